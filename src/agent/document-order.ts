import type { Contents, DocumentLine } from './session/document.ts';
import { SessionProblem } from './session-problem.ts';

const refuse = (complaint: string): never => {
  throw new SessionProblem([complaint]);
};
const expect = (isRight: boolean, complaint: string): void => {
  if (!isRight) refuse(complaint);
};

const refuseTwice = (ids: readonly string[], place: string): void =>
  expect(new Set(ids).size === ids.length, `${place}: expected each id once`);

/**
 * Holds the lines of a document against its contents, one after the other: each session, each message of it, and their
 * parts and outputs have to stand where they belong. A `SessionProblem` says what does not.
 */
export const createOrder = ({ sessions }: Contents) => {
  const ids = sessions.map(({ id }) => id);
  refuseTwice(ids, 'sessions');
  refuseTwice(
    sessions.flatMap(({ messages }) => messages),
    'messages',
  );
  let sessionCount = 0;
  let messageCount = 0;
  let messageID: string | undefined;
  let isOver = false;
  const parts = new Set<string>();
  const outputs = new Set<string>();
  const current = () => sessions[sessionCount - 1];
  const isComplete = (): boolean => messageCount === (current()?.messages.length ?? 0);

  const takeSession = (id: string, parentID: string | undefined): void => {
    expect(isComplete(), 'kind: expected a message, since the contents name another one');
    expect(id === ids[sessionCount], 'session.id: expected the id of the session that comes next in the contents');
    if (sessionCount === 0)
      expect(
        parentID === undefined || !ids.includes(parentID),
        'session.parentID: expected a session outside the document',
      );
    else {
      const isBefore = parentID !== undefined && ids.slice(0, sessionCount).includes(parentID);
      expect(isBefore, 'session.parentID: expected a session that stands before it');
    }
    sessionCount += 1;
    messageCount = 0;
    messageID = undefined;
  };
  const takeMessage = (id: string, sessionID: string): void => {
    const isNext = id === current()?.messages[messageCount];
    expect(isNext, 'message.id: expected the id of the message that comes next in the contents');
    expect(sessionID === current()?.id, 'message.sessionID: expected the id of the session that holds it');
    messageCount += 1;
    messageID = id;
    parts.clear();
    outputs.clear();
  };
  return {
    take(line: DocumentLine): void {
      expect(!isOver, 'expected nothing after the end');
      switch (line.kind) {
        case 'session':
          takeSession(line.session.id, line.session.parentID);
          break;
        case 'message':
          takeMessage(line.message.id, line.message.sessionID);
          break;
        case 'part':
          expect(line.part.messageID === messageID, 'part.messageID: expected the id of the message that holds it');
          expect(line.part.sessionID === current()?.id, 'part.sessionID: expected the id of the session that holds it');
          expect(!parts.has(line.part.id), 'part.id: expected an id that no other part of the message has');
          parts.add(line.part.id);
          break;
        case 'output':
          expect(
            parts.has(line.partID) && !outputs.has(line.partID),
            'partID: expected a part of the message before it, each at most once',
          );
          outputs.add(line.partID);
          break;
        case 'end':
          expect(
            isComplete() && sessionCount === sessions.length,
            'expected all that the contents name before the end',
          );
          isOver = true;
          break;
        default:
          line satisfies never;
      }
    },
    /** After the last line. */
    finish: (): void =>
      expect(isOver, 'expected more: the document ends before its last line, as one that was cut off'),
  };
};
