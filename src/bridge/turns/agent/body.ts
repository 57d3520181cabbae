import type { BeginRequest, SentFile, SentMessage, SentPart } from '../port.ts';

const filePart = ({ mime, url, filename }: SentFile): SentFile => ({
  ...{ type: 'file', mime, url },
  ...(filename === undefined ? {} : { filename }),
});

const partBody = (part: SentPart): SentPart => (part.type === 'text' ? part : filePart(part));

/** A message in the agent's words: no member that it does not know. */
export const messageBody = (message: SentMessage): SentMessage => {
  if (message.role === 'user') return { role: 'user', parts: message.parts.map(partBody) };
  if (message.role === 'tool' && message.files !== undefined) return { ...message, files: message.files.map(filePart) };
  return message;
};

const toolsBody = ({ tools, choice, isParallel }: NonNullable<BeginRequest['clientTools']>) => ({
  tools,
  choice,
  parallel: isParallel,
});

/** Who decides, as the agent keeps it: a client of a bridge has no name that the bridge could vouch for. */
export const DECIDER = 'a client of the bridge';

/** A key that the client has not chosen has this prefix: it does not keep the rules for requests without a key from their work. */
const OWN_KEY = 'once:';

/** With results, what is left out would stay as the request before them had it. */
const formBody = ({ input, format, clientTools }: BeginRequest) => {
  const goesOn = input.some(({ role }) => role === 'tool');
  const tools = clientTools === undefined ? { tools: [] } : toolsBody(clientTools);
  return {
    ...(format === undefined && !goesOn ? {} : { format: format ?? { type: 'text' } }),
    ...(clientTools === undefined && !goesOn ? {} : { clientTools: tools }),
  };
};

/** The body of `POST /gatehouse/turns`. */
export const beginBody = (request: BeginRequest) => ({
  ...(request.conversation === undefined ? {} : { conversation: request.conversation }),
  history: request.history.map(messageBody),
  ...(request.isAppended ? { isAppended: true } : {}),
  ...(request.isCompared ? { isCompared: true } : {}),
  ...(request.isNew ? { isNew: true } : {}),
  input: request.input.map(messageBody),
  ...(request.decisions.length === 0 ? {} : { decisions: request.decisions, by: DECIDER }),
  ifWaiting: request.ifWaiting,
  ...(request.isJoinOnly ? { joinOnly: true } : {}),
  ...(request.agent === undefined ? {} : { agent: request.agent }),
  ...(request.model === undefined ? {} : { model: request.model }),
  ...(request.variant === undefined ? {} : { variant: request.variant }),
  title: request.title,
  ...(request.system === '' ? {} : { system: request.system }),
  ...formBody(request),
  ...(request.hasTools ? {} : { tools: { '*': false } }),
  key: request.isKeyOfClient ? request.key : `${OWN_KEY}${request.key}`,
  digest: request.digest,
  isRetry: request.isRetry,
  abortAfterMs: request.abortAfterMs,
  isStored: request.isStored,
  metadata: request.metadata,
  stream: true,
});
