// Run the client by lines of JSON on standard input and output (section 11 of the specification):
//     ldpstats conformance node conformance.mjs

import process from "node:process";
import { createInterface } from "node:readline";

import { Client, Refused } from "./ldpstats-client.mjs";

const bytesOf = (hexadecimal) => new Uint8Array(Buffer.from(hexadecimal, "hex"));

/** A source of the bytes that are given, in which `used` counts those that were taken. */
class Given {
  used = 0;

  constructor(bytes) {
    this.bytes = bytes;
    this.take = (n) => {
      if (this.used + n > this.bytes.length) {
        throw new Refused("random", "the random bytes ended too soon");
      }
      this.used += n;
      return this.bytes.slice(this.used - n, this.used);
    };
  }
}

/** What `action` returns, or what stands for it where it is refused. */
function attempt(action) {
  try {
    return action();
  } catch (error) {
    if (error instanceof Refused) return { refused: error.reason };
    throw error;
  }
}

function answered({ id, client: document, random, answers, ...given }) {
  const source = new Given(bytesOf(random));
  const options = { random: source.take, reports: given.reports, tags: given.tags };
  if (typeof given.secret === "string") options.secret = bytesOf(given.secret);
  if (given.max_epsilon !== undefined) options.maxEpsilon = given.max_epsilon;
  if (given.unprotected !== undefined) options.unprotected = given.unprotected;
  const client = attempt(() => new Client(document, options));
  if (!(client instanceof Client)) return { id, ...client };
  const asked = [];
  const reports = answers.map((answer) =>
    attempt(() => {
      const questions = client.asked;
      const report = given.messages
        ? client.message(answer, given.invitation)
        : client.report(answer);
      asked.push(questions);
      return report;
    }),
  );
  return { id, reports, used: source.used, ...(client.asked === null ? {} : { asked }) };
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim()) process.stdout.write(`${JSON.stringify(answered(JSON.parse(line)))}\n`);
}
