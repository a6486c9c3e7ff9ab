"""Ignite: an engine calls its update for each batch, and handlers behind it."""

MODULES = ("ignite.engine", "ignite.engine.engine", "ignite.engine.events", "ignite.engine.deterministic")
CALLED = ("create_supervised_trainer",)


class Event:
    def __call__(self, **conditions):
        return Event()  # with a condition it is another, which nobody fires


class Events:
    ITERATION_COMPLETED = Event()
    EPOCH_COMPLETED = Event()
    COMPLETED = Event()


class Engine:
    def __init__(self, process_function):
        self.process_function = process_function
        self.handlers = []

    def on(self, event_name, *args, **kwargs):
        def register(handler):
            self.add_event_handler(event_name, handler, *args, **kwargs)
            return handler

        return register

    def add_event_handler(self, event_name, handler, *args, **kwargs):
        self.handlers.append((event_name, handler, args, kwargs))

    def fire_event(self, event_name):
        for event, handler, args, kwargs in self.handlers:
            if event is event_name:
                handler(self, *args, **kwargs)

    def run(self, data=None, max_epochs=None, **options):
        for batch in data:
            self.state.output = self.process_function(self, batch)
            self.fire_event(Events.ITERATION_COMPLETED)
        self.fire_event(Events.EPOCH_COMPLETED)
        self.fire_event(Events.COMPLETED)


DeterministicEngine = Engine


def create_supervised_trainer(model, optimizer, loss_fn, *args, **kwargs):
    def update(engine, batch):
        x, y = batch
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return Engine(update)
