/** An error that the user of the command must correct; the message names the flag, file or line and is all they see. */
export class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
}
