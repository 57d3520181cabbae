import { parseModelJson, type SchemaCheck, SchemaError } from '../../core/json.ts';
import type { AnswerEnd, OutputEvent } from '../output.ts';
import type { AnswerFormat } from '../request.ts';
import type { PolledOutput } from './polled-output.ts';

/** The tool with which an agent's model gives an answer in a form; OpenCode's name. */
export const STRUCTURED_OUTPUT_CALL = 'StructuredOutput';

const ID = 'structured';
const NONE = 'the answer was not one JSON value';

/** A value that fits, as JSON, or why there is none. */
type Checked = { readonly json: string } | { readonly error: string };

const checkText = (text: string, check: SchemaCheck): Checked => {
  const value = parseModelJson(text);
  if (value === undefined) return { error: NONE };
  try {
    const error = check(value);
    return error === undefined ? { json: JSON.stringify(value) } : { error };
  } catch (error) {
    if (error instanceof SchemaError) return { error: error.message };
    throw error;
  }
};

const textEvents = (text: string): readonly OutputEvent[] => [
  { kind: 'text', id: ID, text },
  { kind: 'text-end', id: ID },
];

const eventsOf = (checked: Checked, format: AnswerFormat): readonly OutputEvent[] => {
  if ('error' in checked)
    return [{ kind: 'refusal', text: `The model gave no answer that fits the schema: ${checked.error}` }];
  return format.kind === 'call'
    ? [{ kind: 'client-call', name: format.name, input: checked.json }]
    : textEvents(checked.json);
};

/**
 * The output of an answer that has to be one JSON value: no text until the value is known to fit, then the value alone, as a text or
 * as the call of a client's function; a refusal where there is none. The value comes as the arguments of the agent's own tool for
 * that, or as the last text. Permission requests are passed on as they are.
 */
export const shapeOutput = (output: PolledOutput, format: AnswerFormat, check: SchemaCheck): PolledOutput => {
  const texts = new Map<string, string>();
  let given: string | undefined;
  /** What the agent refused last. */
  let refused: string | undefined;
  const ready: OutputEvent[] = [];
  const checkAnswer = (last: string): Checked => {
    const checked = checkText(given ?? last, check);
    if ('json' in checked || refused === undefined) return checked;
    const why = checkText(refused, check);
    return 'error' in why ? why : checked;
  };
  const takeEnd = ({ approvalRequests, finish }: AnswerEnd): void => {
    if (finish === 'tool_calls') return;
    const last = [...texts.values()].at(-1) ?? '';
    if (approvalRequests.length === 0) ready.push(...eventsOf(checkAnswer(last), format));
    else if (last !== '') ready.push(...textEvents(last));
  };
  const take = (event: OutputEvent): void => {
    const isOwnCall =
      (event.kind === 'call' || event.kind === 'call-end') && event.call.name === STRUCTURED_OUTPUT_CALL;
    if (event.kind === 'client-call') {
      // The value comes once the client has made its calls. Until then it gets the text so far, which belongs to its history.
      for (const [id, text] of texts) ready.push({ kind: 'text', id, text }, { kind: 'text-end', id });
      texts.clear();
    }
    if (event.kind === 'text') texts.set(event.id, (texts.get(event.id) ?? '') + event.text);
    else if (isOwnCall) {
      if (event.kind === 'call-end' && event.isError) refused = event.call.input;
      else if (event.kind === 'call-end') given ??= event.call.input;
    } else if (event.kind !== 'text-end') {
      if (event.kind === 'end') takeEnd(event.end);
      ready.push(event);
    }
  };
  return {
    ...output,
    poll() {
      while (ready.length === 0) {
        const event = output.poll();
        if (event === undefined) return undefined;
        take(event);
      }
      return ready.shift();
    },
    isOver: () => ready.length === 0 && output.isOver(),
  };
};

/**
 * The output of an answer in any form, with a value that the agent's tool for that gave as a text after its call: the turn was asked
 * for it by an earlier request, which ended with a permission request.
 */
export const showValue = (output: PolledOutput): PolledOutput => {
  const ready: OutputEvent[] = [];
  return {
    ...output,
    poll() {
      const event = ready.shift() ?? output.poll();
      const isValue = event?.kind === 'call-end' && event.call.name === STRUCTURED_OUTPUT_CALL && !event.isError;
      if (isValue) ready.push(...textEvents(event.call.input));
      return event;
    },
    isOver: () => ready.length === 0 && output.isOver(),
  };
};
