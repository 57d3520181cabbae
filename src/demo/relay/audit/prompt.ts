import * as v from 'valibot';
import { isRecord, parseJsonValue } from '../../../core/json.ts';

const AUDITED_ROLES: readonly string[] = ['user', 'system', 'developer', 'assistant', 'tool', 'model'];
const TEXT_TYPES: readonly string[] = ['', 'text', 'input_text', 'output_text'];

const Part = v.looseObject({ type: v.nullish(v.string(), ''), text: v.fallback(v.string(), '') });
/** A message or a part in another form is left out alone: the others are audited. */
const Parts = v.array(v.fallback(Part, { type: '', text: '' }));
const Message = v.object({ role: v.string(), content: v.fallback(v.union([v.string(), Parts]), '') });
const AnyMessage = v.fallback(Message, { role: '', content: '' });

type Segment = { readonly role: string; readonly text: string };

/** Messages, and what stands for one: the system's text, instructions, and items of `input`, which need no role. */
const messagesIn = (text: string) => {
  const body = parseJsonValue(text);
  if (!isRecord(body)) return [];
  const { system, instructions, messages, input } = body;
  const items: readonly unknown[] = Array.isArray(input) ? input : [input];
  return [
    { role: 'system', content: system },
    { role: 'system', content: instructions },
    ...(Array.isArray(messages) ? messages : []),
    ...items.map((item) => ({ role: 'user', ...(isRecord(item) ? item : { content: item }) })),
  ].map((message) => v.parse(AnyMessage, message));
};

const segmentsOf = (body: string): readonly Segment[] =>
  messagesIn(body)
    .filter(({ role }) => AUDITED_ROLES.includes(role))
    .flatMap(({ role, content }) => {
      const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
      return parts.filter(({ type }) => TEXT_TYPES.includes(type)).map(({ text }) => ({ role, text: text.trim() }));
    })
    .filter(({ text }) => text !== '');

/** Plain cuts, in characters as Unicode counts them, without overlap. */
const cut = (text: string, limit: number): readonly string[] => {
  const points = Array.from(text);
  return Array.from({ length: Math.ceil(points.length / limit) }, (_, index) =>
    points.slice(index * limit, (index + 1) * limit).join(''),
  );
};

/** The chunks of texts, in the order in which they are audited: the latest part of the user's, and then the rest in its order. */
export const cutParts = (latest: string, rest: readonly string[], limit: number): readonly string[] => [
  ...cut(latest, limit),
  ...cut(rest.join('\n\n'), limit),
];

/**
 * The chunks of a chat, a message, a response or embeddings: texts of every role, without images and calls of tools. None where there is
 * no text: parts of other types, results and descriptions of tools, names, and keys in another spelling are not seen.
 * Source: Wei-Shaw/sub2api 0.1.179, backend/internal/securityaudit/prompt_snapshot.go.
 */
export const auditChunks = (body: string, limit: number): readonly string[] => {
  const segments = segmentsOf(body);
  const latest = segments.findLastIndex(({ role }) => role === 'user');
  const rest = segments.filter((_, index) => index !== latest).map(({ text }) => text);
  return cutParts(segments[latest]?.text ?? '', rest, limit);
};
