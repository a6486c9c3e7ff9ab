"""The limits of the machine in one table: what each number bounds, and what happens beyond it.

They are counts of steps, paths and things, never of seconds: a program's findings are the same on any machine. Who needs
one reads `limits.NAME` when it is needed, so that a test can set it. What bounds the reading of a text stands in
lowering/limits.py. `docs/limits.md` is written from both; the comments are its headings.
"""

from __future__ import annotations

# Steps of an entry

ENTRY_STEPS = 80_000
"""Instructions that an entry (a script, or a function that nobody called) may take; beyond, its other paths are left
unseen, and a gap says so."""

ENTRY_STEPS_BEYOND = 40_000
"""The same where the program holds no backward pass itself, and only leads to those of modules that it imports; and of an
entry that only calls what runs one there."""

AGAIN_STEPS = 10_000
"""Instructions that a function may take which is run by itself though it was called, since its callers had no steps left to see
what makes its loss."""

CALLERS_STEPS = 40_000
"""Steps that all entries together may take that only call what runs a backward pass; those that are left aren't run."""

QUIET_CALLERS_STEPS = 4_000
"""Steps of such entries that came to no new backward pass and to no new finding; beyond, those that are left aren't run."""

FORCED_ENTRY_STEPS = 1_000
"""An entry that has taken more and came to no backward pass of its own follows few paths when it is forced into one."""

SCRIPT_START_STEPS = 1_000
"""Steps in which a script comes to its first backward pass; beyond, it is left if its classes show what it leads to (what
it prepares is files, options and logs), and what they inherit is run."""

DEFINING_STEPS = 8_000
"""Steps of a module's body that ran no backward pass; beyond, it only defines things, and few ways through it are followed."""

METHOD_RUNS = 2
"""Runs, on one object, of a method that a framework calls again and again."""

METHOD_RUNS_COUNTED = 4
"""The same of one that does something every so many calls."""

STATES_BETWEEN_RUNS = 6
"""Paths behind such a run that the next one goes on from; the others are left."""

ENTRY_EFFORT = 5_000_000
"""What an entry may take beside its steps, in values, nodes and conditions that are gone through while states are compared,
merged and chosen from; from a quarter of it on it follows fewer paths, and beyond, its other paths are left unseen, and a
gap says so."""

STEP_EFFORT = 25
"""As much as a step takes."""

CONDITION_EFFORT = 100
"""As much as a condition takes of which it is asked whether it can hold together with the others of its path."""

BACKWARD_EFFORT = 4
"""As much as a node takes that a backward pass comes to."""

WITNESS_EFFORT = 2
"""As much as a character takes of a script that reproduces a finding; it counts where helps are tried, which makes it again."""

FILE_EFFORT = 5_000_000
"""What all entries of a file may take, with their steps and those of the modules that it imports; beyond, those that are left
have few steps each."""

LATE_ENTRY_STEPS = 300
"""So many."""

FILE_EFFORT_LATE = 6_000_000
"""What all entries may take with these: none may take more than is left of it. So a file ends within ten seconds, at a bit more
than a microsecond each."""

# Functions and modules around the program

MODULES_READ = 60
"""Modules that are read for the sake of one file; what further ones hold stays unknown, and a gap says so."""

ROWS_READ = 25_000
"""Rows of these modules in all; beyond, the same."""

MODULE_BODY_STEPS = 20_000
"""Steps that the body of an imported module may take, which are not the entry's; beyond, what it holds stays unknown."""

IMPORTED_CALL_STEPS = 8_000
"""Steps that a call of another module's function may take unless it runs a backward pass; beyond, the call is taken back,
and returns something unknown."""

IMPORTED_CALL_STEPS_BEYOND = 1_000
"""The same where the program holds no backward pass itself: what counts are the calls that lead to one."""

LAST_TRY_STEPS = 1_000
"""A function of another module that was given up after at least so many steps is not tried again."""

DECORATOR_STEPS = 1_000
"""Steps that a decorator of another module may take before it is given up: what takes more writes documentation."""

IMPORTED_STEPS_OF_ENTRY = 6_000
"""Steps that an entry may spend on functions of other modules without a backward pass; later calls return something
unknown."""

IMPORTED_STEPS_BESIDE_BACKWARD = 12_000
"""So many may be spent before calls of functions are left, too, that stand in one module with a backward pass: they make its
losses."""

IMPORTED_STEPS_OF_ENTRY_BEYOND = 1_500
"""The same where the program holds no backward pass itself, until it has come to one in another module."""

IMPORTED_STEPS_OF_PLAIN = 3_000
"""The same of an entry's calls of functions that are no network's: most read files, parse options, write logs."""

IMPORTED_STEPS_ON_GRAPHS = 6_000
"""So many go beside these into calls of functions that are given a graph: they make losses of it."""

IMPORTED_STEPS_OF_FILE = 25_000
"""The same of all entries of a file together."""

ENTRY_STEPS_WITH_IMPORTS = 40_000
"""Steps that an entry may take once it has called such a function; beyond, it is run again without them."""

CHEAP_FUNCTION_STEPS = 200
"""Functions of other modules that never took more are followed when all steps for others are spent."""

CHEAP_STEPS_OF_ENTRY = 2_000
"""Steps of an entry that may go into these; beyond, they return something unknown, too."""

# Calls

FUNCTIONS_ON_STACK = 24
"""Different functions that may stand on the stack; a deeper call is cut, and returns something unknown."""

RECURSIVE_CALLS = 2
"""Calls of one function that may stand on the stack; the next is cut, unless its arguments count down (or up)."""

COUNTED_DEPTH = 50
"""The same of a function whose own numbers decide how deep it goes."""

COUNTED_CALLS = 256
"""Calls, in all, of such a function in an entry; beyond, they are cut."""

CUSTOM_FUNCTION_STEPS = 4_000
"""Steps that a method of a class derived from torch.autograd.Function may take; beyond, what it saves and returns is read off
its text."""

RECURSIVE_STEPS = 8_000
"""Steps in an entry of a function that calls itself and leads to no backward pass; beyond, it is run along one path, and
not into itself, unless it counts: it goes through what it is given, and what that is nobody knows."""

INTERPRETER_FRAMES = 3_000
"""Python frames that the machine itself may stand on: a call of the program takes a dozen. Beyond, the file is not checked,
and that is said."""

FRAME_WORDS = 530_000
"""Words of a frame for which a piece of memory of 8 MiB is taken: the other half is for these, some 150 words each. Of what none
needs nothing is taken."""

CONFTEST_LEVELS = 4
"""Directories above a test, its own included, in which a `conftest.py` is looked for."""

# Loops

EXACT_ITERATIONS = 6
"""A loop of so many iterations is run as it is; of a longer one only some are."""

COUNTED_ITERATIONS = 24
"""The same of one that runs a backward pass every so many iterations, that only fills a list by a comprehension, or only looks
for where to end."""

PERIODIC_ITERATIONS = 40
"""Of a longer one that does, and says how far apart, all up to the second backward pass are run, if these are no more; also those
until whatever else changes every so many iterations does so together with one."""

PATTERN_LENGTH = 100
"""Characters of a pattern, and of a text if anything in the pattern is repeated, of which it is tried whether they are alike."""

PATTERN_WAYS = 5_000_000
"""Ways in which such a pattern may be tried: as many for each repetition as the text has characters, each by each."""

FIRST_ITERATIONS = 2
"""Iterations that are run with their own numbers, of a loop that isn't run in full; behind them come one in the middle and the last."""

LOOP_ITERATIONS = 4
"""Iterations that are run of a longer loop: the first two, one in the middle, and the last."""

EXACT_LOOP_STEPS = 2_000
"""A loop over layers, objects or weights, or one that makes leaves, is run as it is while its iterations take no more steps
than this, without those of its calls: each may change another of them. So is one whose first iteration replaces an item of a
container that holds graphs, or cuts a tensor from its graph, with those of its calls."""

WHILE_ITERATIONS_KNOWN = 12
"""Iterations of a `while` whose condition is known; the path is taken to leave the loop behind them."""

WHILE_ITERATIONS_UNKNOWN = 4
"""The same where its condition is not known."""

WHILE_ITERATIONS_NESTED = 2
"""The same within so many loops that each would be run for all ways through those around it."""

LENIENT_FROM_ITERATION = 3
"""From this iteration on, a state that differs from an earlier one only by numbers and texts counts as repeated."""

LAST_ITERATION_TESTS = 8
"""Tests of a loop's body that look for its last iteration, of which it is asked what they take for the number of iterations."""

SKIP_ITERATIONS = 8
"""A path that may not skip the middle of a loop, since its counter decides what becomes of a freed graph, runs so many
further iterations one by one; behind them, what it can't get rid of is not reported."""

SKIPPED_ITERATIONS_TRIED = 2
"""Iterations that are tried in place of all those that are skipped: one that drops a graph may do so for the next only."""

SECOND_TRY_DIVISOR = 160
"""The second one is tried only if the first took no more than the entry's steps divided by this."""

ACCELERATION_STEPS = 8_000
"""Steps that may be spent on one iteration whose counters are unknown, which stands for all later ones; beyond, nothing is
learnt from it."""

ACCELERATIONS = 2
"""Such iterations that are tried of one loop: a counter that not every iteration moves grows later than others."""

UNROLLED_ITERATIONS = 128
"""A script in which a loop of a known length was cut short, or a function of another module was given up, is run once more,
with so many first iterations of each loop, along few paths, and with options as they are by default."""

UNROLLED_STEPS = 15_000
"""Steps that this may take; beyond, it ends, and what has failed by then is told."""

UNROLLED_EFFORT = 2_000_000
"""What it may take beside them."""

UNROLLED_OFTEN = 4
"""Backward passes at one place there, behind which what didn't fail is taken not to fail in later iterations either."""

UNROLLED_COMPARED = 4
"""Ends of the last iterations with which that of the next is compared there: graphs that grow are compared node by node."""

UNROLLED_PATHS = 2
"""The paths that are followed there."""

COUNTING_LOOP_STEPS = 500
"""A loop of at most COUNTED_ITERATIONS whose iterations run a backward pass and count something is run as it is while they take
no more steps than this, with those of their calls: the count may decide which of them frees the graph."""

PERIODIC_LOOP_STEPS = 4_000
"""The same of a loop that runs a backward pass at each of so many iterations, up to the second of these."""

COMPUTED_ITEMS = 64
"""An iterable whose items are computed is known item by item up to so many; of a longer one, they are unknown."""

HELD_ITEMS = 4_096
"""The same of one whose items are there already."""

TEXT_ITEMS = 99
"""Characters of a text that a loop over it sees; it seems to be no longer."""

# Paths side by side

PATHS = 12
"""Paths that go on side by side within a block that is run for one state; of more, those go on that differ most."""

PATHS_WITHIN = 2
"""The same, at least, within calls and arms that are run for each of some states (for each of many it is one)."""

FULL_LOOPS_NESTED = 2
"""Within so many loops, one whose counter decides nothing is run for two iterations at most: three levels of four each
would be sixty-four ways through the same body."""

PATHS_ASIDE = 4
"""The paths within calls of functions that lead to no backward pass, of other modules, or once an entry has taken some steps:
what these do to graphs seldom hangs on many conditions."""

ASIDE_FROM_STEPS = 3_000
"""So many."""

PATHS_BEYOND = 2
"""The paths where the program holds no backward pass itself: two take both answers to each condition, and come to the end
of the training that it leads to, as many don't."""

PATHS_WITHIN_BEYOND = 1
"""The paths within calls and arms, there."""

SINGLE_LOOPS_NESTED = 6
"""Within so many loops, one whose counter decides nothing is run for one iteration."""

FULL_LOOPS_NESTED_BEYOND = 1
"""The loops that are run in full, there."""

HALF_PATHS_FROM = 0.25
"""Share of an entry's steps behind which half as many paths go on: better few to the end than many half-way."""

QUARTER_PATHS_FROM = 0.5
"""Share of an entry's steps behind which a quarter as many go on."""

ONE_PATH_FROM = 0.5
"""Share of an entry's effort behind which a single one goes on; half of these shares count for the others."""

PAIRED_ANSWERS = 64
"""Last conditions that a path has answered otherwise than others of which each pair counts where paths are chosen; earlier
ones count one by one."""

LENIENT_STATES = 2
"""Of more states than this, those that differ only in numbers, texts and plain lists are merged."""

LENIENT_STATES_BESIDE = 6
"""The same where others wait that will run as these do: of more in all."""

MERGED_CONDITIONS = 6
"""Where two paths merge that have each chosen no more conditions, it is remembered that one or the other holds; of more,
it is forgotten."""

MAYBE_UNBOUND = 100
"""Answers by which names and attributes are unbound on paths that went into a merged one, those told by the fewest first;
of others it is forgotten."""

EMPTINESS_DEPTH = 20
"""Containers nested deeper count as holding something when it is asked whether a state holds anything but numbers."""

UNSORTED_COMPARISONS = 4
"""New comparisons of a path that are looked through one by one before all are sorted again; this only costs time."""

ITEMS_ON_PATHS = 4
"""Items among which an unknown index chooses each on a path of its own; of more, one stands for all."""

# Numbers, texts and conditions

CONSTANT_LENGTH = 1_000_000
"""Characters, or items, of a known result; a longer one is unknown."""

SETTINGS_LENGTH = 20_000
"""Characters of a text of JSON, TOML, YAML or sections that is read; what a longer one says is unknown."""

YAML_EFFORT = 40
"""What reading one character of YAML counts as."""

SETTINGS_DEPTH = 20
"""What nests deeper in it is unknown."""

PATH_LENGTH = 1_000
"""Characters of the path of a file of the project; a longer one leads nowhere."""

CONSTANT_BITS = 10_000
"""Bits of a known integer; a longer one is unknown: each square of it would take its time."""

POWER_BASE = 10_000
"""Base of a power, and number that is shifted, beyond which the result isn't worked out."""

ROUNDED_DIGITS = 300
"""Places, before or behind the point, to which a number is rounded; beyond them nobody knows the result."""

COMBINED_NUMBER = 300
"""Number of which powers, factorials and combinations are worked out by name; of a larger one nobody knows the result."""

SHIFT = 64
"""Exponents, and places that a number is shifted by, beyond which the result isn't worked out."""

CONVENTIONAL_NAME = 200
"""Characters of a name; a longer one is taken for nothing by convention."""

FOLDED_TEXT = 10_000
"""Characters of a text that is added up, repeated, or filled to columns; beyond, the result isn't worked out."""

REPLACED_LENGTH = 1_000_000
"""Characters of a text times those of what replaces a part of it; beyond, the result isn't worked out."""

SPELLED_TEXT = 1_000
"""Characters of an f-string that is known letter by letter; a longer one is known by its parts."""

TERM_PARTS = 4
"""Parts of a text, or of a sum, by which two of them are told apart; further ones are taken for the same."""

TERM_DEPTH = 6
"""A number that is computed from others in more steps is one of its own."""

TERM_DEPTH_MOST = 12
"""The same of whatever else is computed from unknown values, as a text or a condition: it may be made of another twice, that of
a third twice, and so on."""

NUMBERS_LOOKED_FOR = 64
"""Items of what a call is given that are gone through for numbers of a tensor."""

RESIDUES = 2_000
"""Numbers that are tried for one unknown (or pairs for two) to see what a remainder can be; beyond, it can be any."""

RESIDUES_OF_PAIR = 40
"""The same for each of two unknowns where neither divides."""

DIVISORS = 16
"""Where a divisor is unknown, too, it is taken for one of these first numbers, or for the large one that follows."""

LARGE_DIVISOR = 1_009
"""The divisor that stands for all large ones."""

TRIED_NUMBERS = 12
"""Numbers up to this are tried for each unknown to see whether a path's conditions hold together, and a bit beyond where a
condition names a larger one."""

NAMED_NUMBER = 64
"""Where a condition names a larger number, nothing is tried, and the path counts as possible."""

TRIES = 6_000
"""Numbers that are put into place for one path's conditions; beyond, it counts as possible."""

TEXT_CHOICES = 8
"""Texts that an option is known to be one of, where paths merge; of more, it is forgotten."""

READING = 1_000_000
"""How far from 0 a number may be that is read off a tensor, or computed of such, where it is asked which of two is larger: what
lies beyond (`if loss < 1e6`, `loss < math.inf`) is the training that diverged, and isn't followed."""

# Containers and what nobody sees

LIST_ITEMS = 160
"""Items of a list that grows; beyond, it only holds the last ones and whatever else."""

LIST_ITEMS_KEPT = 32
"""How many the last ones are."""

NESTED_VALUES = 10_000
"""Tuples, partial calls and functions with defaults in such a value, counted as often as they stand there; in a larger one,
those that hold others are unknown."""

NESTED_ITERATORS = 200
"""What `zip`, `map` and their like gave in such a thing, counted as often as it is asked for an item; in a larger one, those
are unknown."""

REPEATED_ITEMS = 64
"""Items of a repeated sequence (`[x] * n`) that are told apart; a longer one holds some of each."""

WINDOW = 16
"""A deque of at most so many items is a window: that it keeps the graphs of a few iterations isn't told."""

LIST_PLACES = 8
"""Places of a list at unknown indices of which it is remembered what was put there; older ones are forgotten."""

GRAPH_SEARCH = 64
"""Values in which the graphs are looked for that an unknown function might use; those further inside aren't found."""

TREE_PARTS = 48
"""Leaves and containers of a tree of containers over whose leaves a function is mapped one by one; what holds more is unknown."""

SPLIT_PARTS = 8
"""Tensors that `chunk` or `split` makes one by one; more become a list of one that stands for all."""

CHANGES_TOLD = 100
"""Saved tensors that one run of a backward pass is told to find changed: all of them are one finding, at its place."""

VIEW_SEARCH = 24
"""Nodes gone through for whether a view is changed in place by what it held; beyond, it counts as changed by something else."""

STACKED_LAYERS = 6
"""Layers of an `nn.TransformerEncoder` or its like; a larger stack is one layer."""

STATE_HOOKS = 16
"""Hooks of tensors, and of all optimisers, that are remembered at a time; older ones are forgotten."""

PARAMETER_LIST_DEPTH = 6
"""Lists in lists in which an optimiser's parameters are looked for; deeper ones are unknown."""

OPTIMIZER_LIST_DEPTH = 3
"""The same of the optimisers that `configure_optimizers` returns."""

RETURNED_DEPTH = 2
"""So deep is looked into what the program returns to a framework: what that does to it is told where it was returned."""

HANDED_DEPTH = 4
"""So deep in an object that an unseen callee is given lie tensors that it may have replaced."""

# Findings

BACKWARD_PASSES_AS_PROOF = 20
"""Last backward passes of a path that are asked what they prove of its graphs; earlier ones prove nothing more."""

GRADIENT_EVENTS = 40
"""Last events of a path (backward passes, steps, zeroed gradients) that are remembered for the rules on their order."""

RETAINED_GRAPHS = 500
"""Last backward passes of a path that kept their graph of which it is asked whether a later one needs it; earlier ones are
not reported."""

STORED_GRAPHS = 8
"""Graphs that one place of the program has stored, or built, that are remembered for the rules on kept graphs."""

STORED_FIRST = 2
"""The first of them, which are never forgotten: those that a backward pass may come to again by the list."""

STORED_DEPTH = 3
"""Containers one inside the other in which such graphs are looked for."""

HOLDER_DEPTH = 4
"""Attributes and items one inside the other in which what carries a graph on is looked for, to be detached by its name."""

TOTAL_OPERATIONS = 5
"""Operations that may stand between a running total and that of the iteration before; beyond, it isn't seen as one."""

CONDITION_SETS = 200
"""Combinations of conditions that are looked at for the fewest that lead to a finding; beyond, it may name more."""

CONDITION_SETS_COMPARED = 200_000
"""How often two of them are compared; beyond, the same."""

SURVIVORS = 64
"""Paths of one place and iteration that are asked which conditions they differ in from one that fails there."""

CONDITIONS_TOLD = 8
"""Conditions that a failure may take at once, beside those of the one way in which an object was made; one that takes more is
not reported: its backward pass isn't judged."""

UNLIKELY_CONDITIONS = 3
"""A backward pass over what has no graph, and a gradient that torch refuses, are not reported if they take more conditions."""

ASSUMPTIONS_SHOWN = 3
"""Assumptions that a finding names."""

WITNESS_TEXT = 60
"""Characters of the program that a comment in a script that reproduces a finding shows; the rest is cut off."""

WITNESS_TERMS = 50
"""Terms that such a script writes into one sum; more become several sums, since Python's parser goes down into each."""

# What is remembered to save time

REMEMBERED_NAMES = 10_000
"""Names of which it is remembered what they are taken for (by each question that is asked of them)."""
