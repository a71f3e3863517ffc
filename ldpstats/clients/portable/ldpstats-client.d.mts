/** The version of the specification that the client follows. */
export declare const VERSION: 1;

/** Why something was refused: section 11 of the specification. */
export type Reason = "document" | "epsilon" | "tags" | "budget" | "answer" | "random" | "invitation";

/** What a client refuses. The message shows no answer. */
export declare class Refused extends Error {
  constructor(reason: Reason, message?: string);
  readonly reason: Reason;
}

/** A client document, as `ldpstats client` writes it and `JSON.parse` reads it. */
export interface ClientDocument {
  readonly format: "ldpstats-client";
  readonly version: 1;
  readonly survey: string;
  readonly epsilon: string;
  readonly fingerprint: string;
  readonly question?: Question;
  readonly questions?: readonly NamedQuestion[];
  readonly ask?: number | null;
  /** The wave of a survey that comes back, and the fingerprint that all its waves have. */
  readonly wave?: string;
  readonly family?: string;
  /** Whether a device sends the same token in all waves. */
  readonly link?: true;
}

export interface Question {
  /** The texts of answers, or how many there are of 0, 1, ...; null where any text is an answer. */
  readonly answers: readonly string[] | number | null;
  readonly reports: readonly string[] | number | { readonly bits: number } | null;
  readonly draw: { readonly kind: string; readonly [field: string]: unknown };
}

export interface NamedQuestion extends Question {
  readonly name: string;
  readonly private: boolean;
  /** The answer that stands for a missing one. */
  readonly refused?: string;
}

/** The report of a question about strings. */
export interface StringReport {
  readonly positions: readonly [number, number];
  readonly grams: readonly [string, string];
  readonly string: string;
}

export type Report = string | StringReport;

/** The reports of a sheet by name of question: null where it was not asked, or not answered. */
export type Sheet = Readonly<Record<string, Report | null>>;

/** Answers by name of question: those that are null or left out are missing. */
export type Answers = Readonly<Record<string, string | null | undefined>>;

/** What `ldpstats collect` takes: section 10 of the specification. */
export interface Message {
  readonly format: "ldpstats-sheet";
  readonly version: 1;
  readonly survey: string;
  /**
   * 128 random bits of this message alone: a message that is sent again counts once. Where waves are
   * linked, the pseudonym of the device.
   */
  readonly token: string;
  /** The code of the invitation, where one was given. */
  readonly invitation?: string;
  readonly sheet: Sheet;
}

/** The respondent's own categories: lists of answers by tag. */
export type Tags = Readonly<Record<string, readonly string[]>>;

export interface Options {
  /** Gives n random bytes; by default `crypto.getRandomValues`. Only tests pass another. */
  random?: (n: number) => Uint8Array;
  /** How many reports, or sheets, the client may make in all; null lifts the limit. */
  reports?: number | null;
  /** How many of them were made before, as the device remembers. */
  made?: number;
  /** The secret of kept responses (RAPPOR), or of linked waves: 32 random bytes, drawn if none are given. */
  secret?: Uint8Array | null;
  /** The respondent's own categories, in a questionnaire by name of question. */
  tags?: Tags | Readonly<Record<string, Tags>>;
  /**
   * The largest epsilon of one report, or sheet, that the device accepts, in nats: what the draws
   * spend is computed. Questions that are not protected, or not for all answers, are then refused.
   */
  maxEpsilon?: number | string | null;
  /** Names of questions of which that is meant; "report" is that of a mechanism. */
  unprotected?: readonly string[];
}

/** One respondent's client. All reports together spend their number times `epsilon`. */
export declare class Client {
  /**
   * @throws {Refused} A document that is none, draws that spend more epsilon than it says, an epsilon
   *   above `maxEpsilon`, a question that is not protected, tags that do not exist, a number of reports that is none ("budget"), a secret of another length ("random").
   */
  constructor(document: unknown, options?: Options);

  /**
   * The report of an answer, or the sheet of answers by name of question.
   *
   * @throws {Refused} If no report is left, or the answer cannot be; then none is spent.
   */
  report(answer: Answers): Sheet;
  report(answer: string): Report;

  /**
   * Makes the report of true answers, as `report` does, and returns what is sent to a collector.
   * Keep it until the collector has answered, to send the same one again.
   *
   * In place of answers it takes an object that `report` of this client returned: that is sent as it
   * was made, and nothing more is spent. A text is an answer always.
   *
   * `invitation` is the code of a survey that takes one sheet for each, written in any way.
   *
   * @throws {Refused} If no report is left, the answer cannot be, or the code has a typing error; then
   *   none is spent.
   */
  message(
    answers: string | Answers | Sheet | StringReport,
    invitation?: string | null,
  ): Message;

  /** What a collector is sent at /withdrawn for a report that its respondent saw and deleted. */
  withdrawal(): { format: "ldpstats-withdrawal"; version: 1; survey: string };

  /** The fingerprint of the survey, which goes with every report. */
  readonly survey: string;
  /** What one report, or one sheet, spends, in nats. */
  readonly epsilon: number;
  /** How many were made, those before this client was opened included. */
  readonly made: number;
  /** The questions of the next sheet; null for a client of one mechanism. */
  readonly asked: readonly string[] | null;
  /** A copy of the secret of kept responses or of linked waves, for the device to keep; null for others. */
  readonly secret: Uint8Array | null;
}

/**
 * An invitation code as it is sent: 20 letters. Case, spaces and dashes do not matter.
 *
 * @throws {Refused} ("invitation") If it was typed wrong.
 */
export declare function invitationCode(given: unknown): string;

/** The fingerprint of a client document, without regard to the one that it has. */
export declare function fingerprint(document: unknown): string;
