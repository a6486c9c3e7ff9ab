"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { serverCommand } = require("./command");

const yes = async () => true;
const no = async () => false;

test("a path in the settings comes first", async () => {
  const found = await serverCommand({ path: "/opt/bin/retainlint", args: ["--isolated"] }, "/env/bin/python", yes);
  assert.deepEqual(found, { command: "/opt/bin/retainlint", args: ["server", "--isolated"] });
});

test("then the selected environment's", async () => {
  const found = await serverCommand({ path: "", args: [] }, "/env/bin/python", yes);
  assert.deepEqual(found, { command: "/env/bin/python", args: ["-m", "retainlint", "server"] });
});

test("then the one on the PATH", async () => {
  const expected = { command: "retainlint", args: ["server"] };
  assert.deepEqual(await serverCommand({ path: "" }, "/env/bin/python", no), expected);
  assert.deepEqual(await serverCommand({ path: "" }, undefined, yes), expected);
});
