"""What is taken for granted of things that nobody sees, by their names: each guess in one row of one table.

`docs/conventions.md` is written from it, and from that of libraries in state/known_libraries.py.
"""

from __future__ import annotations

import re

from retainlint.startup.lazy_patterns import pattern
from retainlint.startup.records import record
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.known_libraries import NO_OPERATIONS
from retainlint.symbolic.state.values import CONVENTIONAL
from retainlint.text import name_guesses


@record
class Convention:
    """A guess by name. What has such a name is taken `taken_for` something; with the level CONVENTIONAL a finding may rest
    on that, and names it in the words that it `says`, and without one it only decides what is followed, or forgotten."""

    names: re.Pattern[str]
    taken_for: str
    examples: tuple[str, ...]
    others: tuple[str, ...]
    """Names that look alike, and are not taken so."""
    level: int | None = None
    says: str = ""

    def takes(self, name: str) -> bool:
        return len(name) <= limits.CONVENTIONAL_NAME and self.names.search(name) is not None


def _words(text: str) -> re.Pattern[str]:
    """The names in a text, and no others."""
    return pattern(rf"^(?:{'|'.join(text.split())})\Z")


_NAMED_CRITERION = r"(^|_)([cC]riterion|loss_?f(n|nc|unc|unction))(_?\d+|_\w+|[A-Z]\w*)$"
"""Criteria of several that are told apart by what follows: `criterion_d`, `criterionGAN`."""

# What is called

_MAKES = "make|build|create|load|init|new|setup"
_HANDLES = (
    f"{_MAKES}|get|prepare|fetch|wrap|choose|instantiate|construct|define|restore|compile|initiali[sz]e|convert|export|save"
    "|clone|copy|update|train|fit|freeze|unfreeze|register|download|upload|print|describe|summari[sz]e|plot|show|quantize"
    "|prune|evaluate|validate|configure|reset"
)
"""What the name of a function begins with that does something to a network, and is none."""

NETWORK = Convention(
    pattern(
        rf"^((?!({_HANDLES})_)\w*_)?"
        r"(model|net|network|generator|discriminator|encoder|decoder|critic|actor|policy|criterion"
        r"|loss_?f(?:n|nc|un|unc|ct|unction)?|objective|mll)(\d*|_[a-z\d]{1,2})$|^(net|model)[A-Z]?\w?$"
        rf"|^(?!({_MAKES})_)\w*_(loss|criterion)$|^criterion",
        re.IGNORECASE,
    ),
    "a network or a criterion: a call of it builds a graph, and saves tensors",
    ("model", "netG", "policy_net", "loss_fn", "mse_loss", "criterionGAN", "encoder_q"),
    ("model_path", "network_config", "loss", "make_critic", "build_loss", "prepare_model", "train_net"),
    CONVENTIONAL,
    "calling `{name}` builds a graph and saves tensors for it",
)
LOSS = Convention(
    pattern(r"^(loss|crit|loss_(layer|module|obj))$"),
    "a criterion where it is called, and is no method",
    ("loss", "crit", "loss_layer"),
    ("losses", "loss_weight"),
    CONVENTIONAL,
    NETWORK.says,
)
LOSS_CLASS = Convention(
    pattern(r"(^|\.)[A-Z]\w*(Loss|Criterion)\d?$"),
    "a class of criteria, where what it makes is called",
    ("ChamferDistanceLoss", "losses.TripletLoss", "SetCriterion"),
    ("LossScaler", "loss", "make_loss", "Losses"),
    CONVENTIONAL,
    NETWORK.says,
)
FORWARD = Convention(
    pattern(r"(^|_)forward(_(once|one|train\w*|features?|head|loss|impl))?$"),
    "a method of a network that does what a call of it does",
    ("forward", "forward_train", "_forward_features"),
    ("forward_hooks", "fast_forwarded"),
    CONVENTIONAL,
    "`{name}` of a network builds a graph and saves tensors for it",
)
TORCH_FUNCTION = Convention(
    pattern(rf"^torch\.(?!{'|'.join(re.escape(each.removeprefix('torch.')) for each in NO_OPERATIONS)})"),
    "a function of torch that the machine has no model of: it saves tensors",
    ("torch.special.zeta", "torch.ops.my.attention"),
    ("torch.distributed.all_reduce", "torchvision.ops.nms"),
    CONVENTIONAL,
    "`{name}` saves tensors for its backward",
)
CONSTRUCTOR = Convention(
    pattern(r"(?:^|\.)[A-Z][^.]*\Z"),
    "a class of a library: what it returns is an object, and may be a network",
    ("timm.models.ResNet", "Config"),
    ("timm.create_model", "Config.load"),
)
CRITERION = Convention(
    pattern(
        r"(^|_)(?i:criterion|crit|objective|loss(_?f(n|un|unc|ct|unction)?|_(layer|module|obj))?)$|" + _NAMED_CRITERION
    ),
    "a criterion, which has no weights of its own: over a prediction without a graph it builds none",
    ("criterion", "loss_fn", "g_loss", "Loss", "criterion_d", "criterionGAN", "loss_fn1", "adversarial_criterion"),
    ("criterions", "model", "loss_functions"),
)
WEIGHTLESS = Convention(
    pattern(
        r"(?i:(^|_)(criterion|crit|loss|losses|loss_?f(?:n|nc|un|unc|ct|unction)?|loss_(?:layer|module|obj)|objective|penalty|metrics?|emb(ed(ding|der)?s?)?|act(ivation)?|relu|gelu|silu|tanh|sigmoid"
        r"|softmax|drop(out)?|pool(ing)?|flatten|identity|upsample|downsample|interpolate|resize|pad|transforms?|aug\w*"
        r"|preprocess\w*|normali[sz]er?|tokeni[sz]er|\w*processor|scaler|quantizer|\w*sched(uler)?|sampler|\w*loader|logger"
        r"|opt(im\w*)?)(_?\d+|_[a-z\d]{1,2})?$"
        r"|Loss$|Criterion$)|" + _NAMED_CRITERION
    ),
    "what has no weights, or none that a graph saves, as an embedding",
    ("loss", "embedding", "relu1", "dropout", "train_loader", "MSELoss", "criterionGAN"),
    ("model", "fc", "embedded_net"),
)
ONE_LAYER = Convention(
    pattern(
        r"(^|_)(fc|linear|lin|conv|deconv|head|proj|projection|out|output|classifier|clf|regressor|layer|bn|ln|norm|dense|mu"
        r"|mean|sigma|logvar|log_std|std|gate|query|key|value|kernel|covar_module|mean_module|likelihood)s?(_?\d+|_[a-z\d]+)?$",
        re.IGNORECASE,
    ),
    "perhaps a single layer, which saves its weight only if its input needs a gradient",
    ("fc", "conv1", "lm_head", "q_proj"),
    ("model", "backbone", "converter"),
)
RECURRENT_STATE = Convention(
    pattern(r"(^|[_.])(hiddens?|hidden_states?|hx|hn|h_n|(lstm|gru|rnn|recurrent)_states?)$"),
    "the state that a recurrent network is given, beside its input, of its own earlier result",
    ("hidden", "self.hx", "lstm_state", "h_n"),
    ("state", "hidden_size", "hidden_layer"),
    CONVENTIONAL,
    "a recurrent network returns its output and its state with the graph that led to them",
)
DATA_SOURCE = Convention(
    pattern(
        r"(^|_)(replay|(data_?|replay_?)?buf(fer)?s?|memory|queue|[qQ]|(\w*_)?sampler|(data)?loader|dataset|rollouts?|storage|registry"
        r"|checkpoint|ckpt)(_[a-z\d]{1,2}|\d+)?$|[a-z](Buffer|Queue|Sampler|Loader|Dataset)$"
    ),
    "what holds data: what its methods return, given no graph, has none where a network is given it",
    ("replay_buffer", "self_queue", "train_loader", "buf", "adv_buf", "sampler"),
    ("model", "buffered", "memory_net"),
)
MEMORY = Convention(
    pattern(r"(^|[_.])(mem(s|ory|ories)?|cache|past\w*|prev\w*|history)(_\w+)?$"),
    "what a network is given back of its own earlier result, and cuts off from its graph itself",
    ("mems", "self.memory", "past_key_values"),
    ("h", "state", "hidden"),
)

# What trains

OPTIMIZER = Convention(
    pattern(
        r"^(\w+_)?[Oo]pt(im(i[sz]ers?)?)?s?([A-Z\d]\w{0,2}|_(?!lr|sched|level|state|step|name|config|arg|param|cls|class)\w+)?$"
        r"|(^|_)solver(_\w{1,2})?$"
    ),
    "an optimiser: its step moves the weights of the network that it belongs to",
    ("optimizer", "opt", "optimG", "d_optimizer", "solver"),
    ("options", "optimizer_state", "opt_level", "scheduler"),
    CONVENTIONAL,
    "`{name}` of {network} owns its weights",
)
TRAINER = Convention(
    pattern(r"(^|_)(accelerator|fabric|engine|trainer|strategy|scaler)(\d*|_|$)", re.IGNORECASE),
    "a framework's object or a gradient scaler: its `backward(loss)` is a backward pass, and its `scale` multiplies the loss",
    ("accelerator", "scaler", "model_engine", "trainer2"),
    ("training", "rescaled", "search"),
    CONVENTIONAL,
    "the gradient scaler multiplies the loss",
)
LOSS_SCALER = Convention(
    pattern(rf"(?:{name_guesses.LOSS_SCALER.names})\Z"),
    "a loss scaler as in timm: a call of it with a loss and an optimiser is a backward pass and a step",
    ("loss_scaler", "amp_loss_scaler", "NativeScaler"),
    ("scaler", "loss_scale"),
)
LAYER_CLASS = Convention(
    pattern(
        r"\b[A-Z]\w*(Layer|Block|Linear|Attention|Encoder|Decoder|Net|Transformer|MLP|LSTM|GRU|RNN)$|\w*Conv(\dd)?$"
    ),
    "a class of layers: what it makes and a module holds is a part of that",
    ("ResBlock", "layers.SelfAttention", "GraphConv", "UNet"),
    ("Linearizer", "Dataset", "block"),
)
NETWORK_CLASS = Convention(
    pattern(
        r"\b[A-Z]\w*(Model|Module|Network|Backbone|Policy|Actor|Critic|Generator|Discriminator|Classifier|Head|ViT)\Z"
        r"|\bResNet\w*\Z"
    ),
    "a class of networks: what it makes has parameters, where a module lists it, or a class of the program derives from it",
    ("PolicyNetwork", "transformers.BertModel", "lib.StyleGenerator"),
    ("MelSpectrogram", "Modeling", "network"),
)
TRANSFORMERS_OUTPUT = Convention(
    pattern(r"^transformers\..*Outputs?(With\w+)?$"),
    "a class of what a model of transformers returns, which holds what it is given",
    ("transformers.modeling_outputs.CausalLMOutput", "transformers.modeling_outputs.BaseModelOutputWithPast"),
    ("transformers.AutoModel", "my.Output"),
)
TRAINING = Convention(
    pattern(r"fit|train|run|main|step|backward|launch|spawn|grad"),
    "a function that trains: a script that calls none only defines things",
    ("main", "train_model", "fit", "training_loop"),
    ("parse_args", "setup"),
)

# What frees, freezes or keeps

CLEARS = Convention(
    pattern(r"(^|_)(zero|reset|clear)", re.IGNORECASE),
    "a function that may set gradients to None",
    ("zero_grads", "reset", "_clear_gradients"),
    ("nonzero", "unclear"),
)
FREEZES = Convention(
    pattern(r"freez|frozen|requires_?grad|toggle|trainable|set_grad|enable_grad|disable", re.IGNORECASE),
    "a function, or an option, that may freeze the networks that it is given",
    ("freeze_encoder", "set_requires_grad", "toggle_optimizer"),
    ("train", "grad_norm"),
)
LEARNS = Convention(
    pattern(r"^(?:requires_grad|requiresgrad|train)"),
    "among such options, one that says what learns, rather than what is frozen",
    ("requires_grad", "trainable"),
    ("freeze", "is_frozen"),
)
TELLS = Convention(
    _words(
        """add_scalar add_scalars add_histogram add_image add_images add_figure add_text set_postfix set_postfix_str
        set_description set_description_str info debug warning error critical log log_dict print"""
    ),
    "a method of a writer, a bar, a logger or a module of Lightning, which tells what it is given and keeps nothing of it",
    ("add_scalar", "info", "log_dict"),
    ("add", "append", "logs"),
)
CHANGES = Convention(
    _words(
        "pop popleft popitem append appendleft extend insert remove clear discard put update setdefault __setitem__"
    ),
    "a method by which a container holds more, or less, or something else",
    ("append", "pop", "put"),
    ("get", "appended"),
)
OPTION = Convention(
    _words("startswith endswith get getint getfloat getboolean find rfind"),
    "a method that answers the same when it is asked the same again, of what is no tensor",
    ("get", "getboolean", "startswith"),
    ("getattr", "pop"),
)
PLAIN_ATTRIBUTE = Convention(
    _words("shape device dtype ndim requires_grad is_leaf grad_fn grad"),
    "an attribute that holds no part of a tensor's graph",
    ("shape", "dtype", "grad"),
    ("T", "data", "loss"),
)
DATACLASS = Convention(
    pattern(r"^dataclass"),
    "a decorator that makes a dataclass",
    ("dataclass", "dataclass_json"),
    ("my_dataclass", "register"),
)

TABLE: dict[str, Convention] = {name: row for name, row in globals().items() if isinstance(row, Convention)}
"""All of them, by name."""
