import type { KeptMessage, KeptSession } from './session-document.ts';

/** Hears of each id of one kind where it stands, and says when it stood somewhere before. */
const createSeen = () => {
  const seen = new Set<string>();
  return (id: string): boolean => seen.size === seen.add(id).size;
};

const TWICE = 'expected an id that nothing else in the document has';

/** What in a document does not belong where it stands, a line each with its place. */
export const displacedIn = (sessions: readonly KeptSession[]): readonly string[] => {
  const complaints: string[] = [];
  const [isSession, isMessage, isPart] = [createSeen(), createSeen(), createSeen()];
  const expect = (isRight: boolean, place: string, what: string): void => {
    if (!isRight) complaints.push(`${place}: ${what}`);
  };
  const lookAtMessage = ({ info, parts, outputs }: KeptMessage, sessionID: string, place: string): void => {
    expect(!isMessage(info.id), `${place}.info.id`, TWICE);
    expect(info.sessionID === sessionID, `${place}.info.sessionID`, 'expected the id of the session that holds it');
    for (const [index, part] of parts.entries()) {
      const at = `${place}.parts[${index}]`;
      expect(!isPart(part.id), `${at}.id`, TWICE);
      expect(part.sessionID === sessionID, `${at}.sessionID`, 'expected the id of the session that holds it');
      expect(part.messageID === info.id, `${at}.messageID`, 'expected the id of the message that holds it');
    }
    const isOutput = createSeen();
    for (const [index, { partID }] of outputs.entries()) {
      const isOwn = parts.some(({ id }) => id === partID) && !isOutput(partID);
      expect(isOwn, `${place}.outputs[${index}].partID`, 'expected a part of this message, each at most once');
    }
  };
  const ids = new Set(sessions.map(({ info }) => info.id));
  const before = new Set<string>();
  for (const [index, { info, messages }] of sessions.entries()) {
    const place = `sessions[${index}]`;
    const { id, parentID = '' } = info;
    expect(!isSession(id), `${place}.info.id`, TWICE);
    if (index === 0) expect(!ids.has(parentID), `${place}.info.parentID`, 'expected a session outside the document');
    else expect(before.has(parentID), `${place}.info.parentID`, 'expected a session that stands before it');
    before.add(id);
    for (const [at, message] of messages.entries()) lookAtMessage(message, id, `${place}.messages[${at}]`);
  }
  return complaints;
};
