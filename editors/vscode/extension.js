// Starts `retainlint server` for Python files and notebooks, and ends it.

"use strict";

const { execFile } = require("node:child_process");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { serverCommand } = require("./command");

const SETTINGS = "retainlint";
let client;
let starting = Promise.resolve();

/** The Python that is selected for the workspace, as Microsoft's Python extension tells it. */
async function selectedPython() {
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (extension === undefined) {
    return undefined;
  }
  const api = extension.isActive ? extension.exports : await extension.activate();
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const path = api?.environments?.getActiveEnvironmentPath(folder);
  const environment = path && (await api.environments.resolveEnvironment(path));
  return environment?.executable?.uri?.fsPath;
}

/** Whether a Python has retainlint, and what its server needs; nothing of the workspace is imported. */
function hasServer(python) {
  const look = "import sys; sys.path[:1] = []; import retainlint, pygls.lsp.server";
  return new Promise((resolve) => execFile(python, ["-c", look], (error) => resolve(error === null)));
}

async function start() {
  const settings = vscode.workspace.getConfiguration(SETTINGS);
  if (!settings.get("enable")) {
    return;
  }
  const run = await serverCommand(
    { path: settings.get("path"), args: settings.get("args") },
    await selectedPython().catch(() => undefined),
    hasServer,
  );
  client = new LanguageClient(SETTINGS, "retainlint", run, {
    documentSelector: [
      { scheme: "file", language: "python" },
      { scheme: "untitled", language: "python" },
      { scheme: "vscode-notebook-cell", language: "python" },
    ],
  });
  try {
    await client.start();
  } catch (error) {
    const words = `retainlint: ${run.command} can't be started as a language server: pip install 'retainlint[server]'`;
    vscode.window.showErrorMessage(words);
    client.outputChannel.appendLine(String(error));
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running?.isRunning()) {
    await running.stop();
  }
}

/** One after the other, however often it is asked for. */
function restart() {
  starting = starting.then(stop).then(start);
  return starting;
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("retainlint.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration(SETTINGS) && restart()),
  );
  const python = vscode.extensions.getExtension("ms-python.python");
  const api = await Promise.resolve(python?.activate()).catch(() => undefined);
  const environments = api?.environments;
  if (environments?.onDidChangeActiveEnvironmentPath) {
    context.subscriptions.push(environments.onDidChangeActiveEnvironmentPath(restart));
  }
  await restart();
}

function deactivate() {
  return starting.then(stop);
}

module.exports = { activate, deactivate };
