"""skorch: a net walks what its `get_loss` returns, for each batch."""

MODULES = ("skorch", "skorch.classifier", "skorch.net", "skorch.regressor")
OVERRIDDEN = ("get_loss",)


class NeuralNet:
    def fit(self, X, y=None, **fit_params):
        for _ in self.get_iterator(X):
            self.run_get_loss()
        return self

    def run_get_loss(self):
        loss = self.get_loss()
        loss.backward()
        return loss


NeuralNetClassifier = NeuralNetBinaryClassifier = NeuralNetRegressor = NeuralNet
