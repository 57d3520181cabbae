import type { Clock } from '../../../src/core/clock.ts';
import type { Handler } from '../../../src/core/http/handler.ts';
import { createScriptedModel } from '../../../src/demo/model/model.ts';
import { answer, type ModelScript, type ScriptedReply, text } from '../../../src/demo/model/reply.ts';
import type { ReceivedRequest } from '../../../src/demo/model/request.ts';

/** Sets the replies of a scripted model, and shows what it received. */
export type ModelControl = {
  /**
   * The reply to the next request, or to the next that `when` accepts; after those that are queued already. A bare text is
   * an answer of that text.
   */
  readonly addReply: (reply: ScriptedReply | string, when?: (request: ReceivedRequest) => boolean) => void;
  /** The same for every request without a queued reply. */
  readonly alwaysReply: (reply: ScriptedReply | string, when?: (request: ReceivedRequest) => boolean) => void;
  /** How many replies are still queued. */
  readonly waiting: () => number;
  readonly requests: () => readonly ReceivedRequest[];
  /** Forgets all requests and replies. */
  readonly clear: () => void;
};

type Rule = { readonly reply: ScriptedReply; readonly when: (request: ReceivedRequest) => boolean };

const toReply = (reply: ScriptedReply | string): ScriptedReply =>
  typeof reply === 'string' ? answer(text(reply)) : reply;
const any = (): boolean => true;

type ControlledModelNeeds = {
  readonly clock: Clock;
  /** Asked when the control has no reply. */
  readonly script?: ModelScript;
};

/** A scripted model whose replies a test sets. */
export const createControlledModel = ({
  clock,
  script = () => undefined,
}: ControlledModelNeeds): { readonly handler: Handler; readonly control: ModelControl } => {
  const queued: Rule[] = [];
  const permanent: Rule[] = [];
  const received: ReceivedRequest[] = [];
  const findReply = (request: ReceivedRequest): ScriptedReply | undefined => {
    const index = queued.findIndex(({ when }) => when(request));
    if (index === -1) return permanent.find(({ when }) => when(request))?.reply;
    return queued.splice(index, 1)[0]?.reply;
  };
  return {
    handler: createScriptedModel({
      clock,
      script(request) {
        received.push(request);
        return findReply(request) ?? script(request);
      },
    }),
    control: {
      addReply: (reply, when = any) => void queued.push({ reply: toReply(reply), when }),
      // The latest comes first: it was set with the others in mind.
      alwaysReply: (reply, when = any) => void permanent.unshift({ reply: toReply(reply), when }),
      waiting: () => queued.length,
      requests: () => [...received],
      clear() {
        queued.length = 0;
        permanent.length = 0;
        received.length = 0;
      },
    },
  };
};
