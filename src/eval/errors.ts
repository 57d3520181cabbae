/** What the person who ran the command must put right; the message names the flag, file or line and is all they see. */
export class EvalProblem extends Error {
  override readonly name = 'EvalProblem';
}
