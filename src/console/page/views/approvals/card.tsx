import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { AnswerWord } from '../../../protocol.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button, SteadyButton } from '../../parts/button.tsx';
import { JsonValue } from '../../parts/json-value.tsx';
import { SafeLine, SafeText } from '../../parts/safe-text.tsx';
import { showFailure } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { hideEnded, isOpen, replyTo, type ShownApproval } from '../../state/approvals.ts';
import { showToast } from '../../state/toasts.ts';
import { mayDecide, missingPart } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';
import { CallOutcomeLine } from './call-outcome.tsx';
import { AlwaysDialog, RejectDialog } from './dialogs.tsx';
import { MoneyCard } from './money-preview.tsx';
import { lateSentence, outcomeSentence, toneOfReply } from './outcome.ts';
import { Remaining } from './remaining.tsx';

const words = texts.approvals;

const Outcome = ({ shown }: { readonly shown: ShownApproval }) => {
  const { approval, ended, isOwn } = shown;
  return isOpen(shown) ? null : (
    <div class="outcome">
      {ended === undefined ? (
        <Badge tone="plain">{words.gone}</Badge>
      ) : (
        <>
          <Badge tone={toneOfReply(ended.reply)}>{outcomeSentence(ended, isOwn)}</Badge>
          <Time at={ended.at} />
        </>
      )}
      {ended?.reply === 'once' || ended?.reply === 'always' ? (
        <CallOutcomeLine agent={approval.agent} id={approval.id} />
      ) : null}
      {ended?.message === undefined ? null : (
        <span class="outcome-reason">
          <span class="label">{words.reason}</span> <SafeLine text={ended.message} limit={2000} />
        </span>
      )}
      <Button kind="quiet" isSmall label={`${words.hide}: ${approval.tool}`} onClick={() => hideEnded(approval.id)}>
        {words.hide}
      </Button>
    </div>
  );
};

const SessionLink = ({ agent, id, title }: { readonly agent: number; readonly id: string; readonly title: string }) => {
  const shown = <SafeLine text={title === '' ? words.untitled : title} limit={160} />;
  return missingPart('sessions') === undefined ? (
    <a href={`/sessions/${agent}/${encodeURIComponent(id)}`}>{shown}</a>
  ) : (
    shown
  );
};

/** The conversation with the user, whose own words its title is of, and the task in it that makes the call. */
const Conversation = ({ shown: { approval } }: { readonly shown: ShownApproval }) => {
  const { agent, sessionID, title, parentID, parentTitle } = approval;
  const own = <SessionLink agent={agent} id={sessionID} title={title} />;
  if (parentID === undefined || parentTitle === undefined) return own;
  return (
    <>
      <SessionLink agent={agent} id={parentID} title={parentTitle} /> · {words.task} {own}
    </>
  );
};

const hasArguments = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value !== undefined;

/** What the call would do: the money it moves, the patterns of its permission, every argument. */
const Call = ({ shown: { approval } }: { readonly shown: ShownApproval }) => (
  <>
    {approval.money === undefined ? null : <MoneyCard money={approval.money} />}
    {approval.patterns.some((pattern) => pattern !== '*') ? (
      <p class="patterns">
        <span class="label">{words.pattern}</span>
        {approval.patterns.map((pattern) => (
          <code key={pattern}>
            {pattern.length > 500 ? (
              <SafeText text={pattern} foldedChars={500} />
            ) : (
              <SafeLine text={pattern} limit={500} />
            )}
          </code>
        ))}
      </p>
    ) : null}
    <div class="arguments">
      <h3 class="label">{words.argumentsLabel}</h3>
      {hasArguments(approval.arguments) ? (
        <JsonValue value={approval.arguments} />
      ) : (
        <p class="muted">{words.noArguments}</p>
      )}
    </div>
  </>
);

const lateOrTaken = async (shown: ShownApproval, reply: AnswerWord, message: string | undefined): Promise<void> => {
  try {
    const outcome = await replyTo(shown.approval, reply, message);
    if (outcome.kind === 'taken') showToast(words.taken[reply], 'plain');
    else if (outcome.kind === 'arguments-changed') showToast(words.argumentsChanged, 'bad');
    else showToast(lateSentence(outcome.decision), 'warning');
  } catch (error) {
    showFailure(error);
  }
};

/** One request with all that is needed to decide it, and the buttons that do. */
export const ApprovalCard = ({ shown }: { readonly shown: ShownApproval }) => {
  const { approval, hasChanged } = shown;
  const isWaiting = isOpen(shown);
  const isAway = shown.missing === 'away';
  const heading = useRef<HTMLHeadingElement>(null);
  const asking = useSignal<'always' | 'reject' | undefined>(undefined);
  const sending = useSignal<AnswerWord | undefined>(undefined);
  const close = (): void => {
    asking.value = undefined;
  };
  // What is asked there was asked about other arguments.
  useEffect(close, [approval.argumentsHash]);
  const decide = async (reply: AnswerWord, message?: string): Promise<void> => {
    if (sending.value !== undefined) return;
    sending.value = reply;
    await lateOrTaken(shown, reply, message);
    sending.value = undefined;
    close();
    // The button that had the focus is gone.
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
    });
  };
  const headingId = `approval-${approval.id}`;
  const isBusy = sending.value !== undefined;
  return (
    <article class={`card approval${isWaiting ? '' : ' ended'}`} aria-labelledby={headingId}>
      <header class="approval-head">
        <div>
          <h2 id={headingId} ref={heading} tabIndex={-1}>
            <SafeLine text={approval.tool} limit={160} />
          </h2>
          <p class="muted">
            {words.conversation} <Conversation shown={shown} />
            {approval.asked === undefined ? null : (
              <>
                {' · '}
                {words.asked} <Time at={approval.asked} />
              </>
            )}
            {approval.by === undefined ? null : (
              <>
                {' · '}
                {words.agent} <SafeLine text={approval.by} limit={80} />
              </>
            )}
            {approval.link?.announced === true ? ` · ${words.linkAnnounced}` : ''}
          </p>
        </div>
        {isWaiting && approval.ends !== undefined ? <Remaining asked={approval.asked} ends={approval.ends} /> : null}
      </header>
      {hasChanged === true ? (
        <p class="notice" role="alert">
          {words.argumentsChanged}
        </p>
      ) : null}
      {isAway && isWaiting ? (
        <p class="notice" role="alert">
          {words.agentAway}
        </p>
      ) : null}
      <Call shown={shown} />
      <Outcome shown={shown} />
      {isWaiting && mayDecide.value ? (
        <div class="actions" key={approval.argumentsHash}>
          <SteadyButton kind="primary" isBusy={isBusy} isDisabled={isAway} onClick={() => void decide('once')}>
            {words.once}
          </SteadyButton>
          {approval.always.length === 0 ? null : (
            <SteadyButton
              isDisabled={isBusy || isAway}
              onClick={() => {
                asking.value = 'always';
              }}
            >
              {words.always}
            </SteadyButton>
          )}
          <SteadyButton
            kind="danger"
            isDisabled={isBusy || isAway}
            onClick={() => {
              asking.value = 'reject';
            }}
          >
            {words.reject}
          </SteadyButton>
        </div>
      ) : null}
      {isWaiting && mayDecide.value && approval.always.length === 0 ? <p class="muted">{words.onceOnly}</p> : null}
      {isWaiting && !mayDecide.value ? <p class="muted">{words.mayNot}</p> : null}
      {asking.value === 'always' ? (
        <AlwaysDialog shown={shown} isBusy={isBusy} onClose={close} onConfirm={() => void decide('always')} />
      ) : null}
      {asking.value === 'reject' ? (
        <RejectDialog
          shown={shown}
          isBusy={isBusy}
          onClose={close}
          onConfirm={(reason) => void decide('reject', reason)}
        />
      ) : null}
    </article>
  );
};
