// What is wrong with a trace, in words for the person who wanted to see it.

export class TraceError extends Error {
  /** @param hint what to do about it, if there is something */
  constructor(
    message: string,
    readonly hint = '',
    /** Things found in a file that is readable but contradicts itself; it may be opened regardless. */
    readonly defects: string[] = [],
  ) {
    super(message);
  }
}

/** The message of anything thrown, with the place it happened at. */
export function explain(error: unknown, where: string): TraceError {
  if (error instanceof TraceError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new TraceError(`${where} cannot be read: ${text}`, 'The file is damaged or was not written by Pellucid.');
}
