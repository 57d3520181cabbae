const SHOWN = 10;

/** Why a session cannot be exported or imported: a line for each thing that is wrong, and no more of them than can be read. */
export class SessionProblem extends Error {
  override readonly name = 'SessionProblem';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const left = problems.length - SHOWN;
    const shown = [...problems.slice(0, SHOWN), ...(left > 0 ? [`and ${left} more`] : [])];
    super(shown.join('\n'));
    this.problems = shown;
  }
}
