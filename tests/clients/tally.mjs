// Count the reports of a client in JavaScript, by the randomness of the runtime. The arguments are
// the module and the number of reports of each answer; standard input has the client document,
// and the answers.

import { readFileSync } from "node:fs";
import process from "node:process";

const [path, n] = process.argv.slice(2);
const { Client } = await import(path);
const { client: document, answers } = JSON.parse(readFileSync(0, "utf8"));

const counted = answers.map((answer) => {
  const counts = new Map();
  const client = new Client(document, { reports: null });
  for (let i = 0; i < Number(n); i += 1) {
    const report = client.report(answer);
    const text = typeof report === "string" ? report : JSON.stringify(report);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts];
});
process.stdout.write(JSON.stringify(counted));
