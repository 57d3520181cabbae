import { Fragment } from 'preact';
import type { Approval } from '../../../protocol.ts';
import { Badge } from '../../parts/badge.tsx';
import { MessageParts } from '../../parts/message-parts.tsx';
import { SafeLine, SafeText } from '../../parts/safe-text.tsx';
import { failureText } from '../../parts/states.tsx';
import { isOpen, type ShownApproval, shownApprovals } from '../../state/approvals.ts';
import { missingPart } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';
import { ApprovalCard } from '../approvals/card.tsx';
import type { ChatTurn } from './conversation.ts';

const words = texts.chat;

type TurnProps = { readonly turn: ChatTurn };

/** The requests of an answer, and those that its session has opened since. */
const requestsOf = ({ answer, session, state }: ChatTurn): readonly ShownApproval[] => {
  const isOfTurn = ({ agent, id, sessionID, parentID }: Approval): boolean =>
    answer.approvals.includes(id) ||
    (state === 'following' && agent === session?.agent && (sessionID === session.id || parentID === session.id));
  return (shownApprovals.value ?? []).filter(({ approval }) => isOfTurn(approval));
};

const Requests = ({ turn }: TurnProps) => {
  const shown = requestsOf(turn);
  return (
    <>
      {shown.map((one) => (
        <ApprovalCard key={one.approval.id} shown={one} />
      ))}
      {turn.state === 'waiting' && shown.length === 0 ? <p class="muted">{words.requestAway}</p> : null}
    </>
  );
};

const Problem = ({ turn: { answer, failure, state } }: TurnProps) => {
  const sentence = answer.error ?? (failure === undefined ? undefined : failureText(failure));
  if (state !== 'failed') return null;
  return (
    <p class="notice bad" role="alert">
      <SafeLine text={sentence ?? words.brokenOff} limit={1000} />
    </p>
  );
};

/** A run whose session is followed may wait for a decision again. */
const wordsFor = (turn: ChatTurn): string =>
  words.states[turn.state === 'following' && requestsOf(turn).some(isOpen) ? 'waiting' : turn.state];

const Notes = ({ turn }: TurnProps) => {
  const { answer, session, state } = turn;
  return (
    <footer class="message-head">
      {state === 'writing' || state === 'following' ? (
        <span class="writing">
          <span class="spinner" aria-hidden="true" /> {wordsFor(turn)}
        </span>
      ) : null}
      {state === 'stopped' ? <Badge tone="warning">{words.states.stopped}</Badge> : null}
      {state === 'done' && answer.finish === 'length' ? <Badge tone="warning">{words.tooLong}</Badge> : null}
      {session === undefined || missingPart('sessions') !== undefined ? null : (
        <a href={`/sessions/${session.agent}/${encodeURIComponent(session.id)}`}>{words.openSession}</a>
      )}
    </footer>
  );
};

/** A message of the visitor, and below it the answer with its calls of tools and its permission requests. */
export const TurnView = ({ turn }: TurnProps) => (
  <Fragment>
    <li class="message from-person">
      <header class="message-head">
        <strong>{words.you}</strong>
      </header>
      <SafeText text={turn.prompt} foldedChars={4000} />
    </li>
    <li class="message from-agent" aria-busy={turn.state === 'writing'}>
      <header class="message-head">
        <strong>{texts.messages.agent}</strong>
      </header>
      <MessageParts parts={turn.stored ?? turn.answer.parts} foldedChars={100_000} agent={turn.session?.agent} />
      <Requests turn={turn} />
      <Problem turn={turn} />
      <Notes turn={turn} />
    </li>
  </Fragment>
);
