// Which program is started as the server.

"use strict";

/**
 * The command of the server and its arguments: the one that the settings name, else that of the selected Python
 * environment if it has retainlint, else whatever the PATH has. `has(python)` tells whether a Python has retainlint.
 */
async function serverCommand(settings, python, has) {
  const args = ["server", ...(settings.args ?? [])];
  if (settings.path) {
    return { command: settings.path, args };
  }
  if (python && (await has(python))) {
    return { command: python, args: ["-m", "retainlint", ...args] };
  }
  return { command: "retainlint", args };
}

module.exports = { serverCommand };
