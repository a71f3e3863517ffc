// Count the reports of a client in JavaScript, by the randomness of the runtime. The arguments are
// the module and the number of reports of each answer; standard input has the client document,
// and the answers. With `waves` each answer is a path, of which each device reports every step.

import { readFileSync } from "node:fs";
import process from "node:process";

const [path, n] = process.argv.slice(2);
const { Client } = await import(path);
const { client: document, answers, waves = false } = JSON.parse(readFileSync(0, "utf8"));

const shown = (report) => (typeof report === "string" ? report : JSON.stringify(report));

const counted = answers.map((answer) => {
  const counts = new Map();
  const client = new Client(document, { reports: null });
  const devices = () => {
    const device = new Client(document, { reports: null });
    return answer.map((one) => shown(device.report(one))).join(", ");
  };
  for (let i = 0; i < Number(n); i += 1) {
    const text = waves ? devices() : shown(client.report(answer));
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts];
});
process.stdout.write(JSON.stringify(counted));
