import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { SessionDetail } from '../../../protocol.ts';
import { costText, countText } from '../../format/numbers.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button, SteadyButton } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Fact } from '../../parts/fact.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { Loaded, showFailure } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { createResource } from '../../state/resource.ts';
import { usePolling, useResource } from '../../state/resource-hook.ts';
import { navigate } from '../../state/route.ts';
import { showToast } from '../../state/toasts.ts';
import { api, isAdmin, missingPart } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';
import { SessionMessages } from './messages.tsx';

const words = texts.sessions;

type SessionAddress = { readonly agent: number; readonly id: string };
const apiPath = ({ agent, id }: SessionAddress): string => `/api/sessions/${agent}/${encodeURIComponent(id)}`;

const POLL_MS = 2000;
/** Somebody else may write in it. */
const IDLE_POLL_MS = 5000;

const Facts = ({ session }: { readonly session: SessionDetail }) => {
  const { created, updated, cost, tokens, agentName, model, parent, agent } = session;
  return (
    <dl class="facts">
      <Fact name={words.columns.updated}>
        <Time at={updated} />
      </Fact>
      <Fact name={words.created}>
        <Time at={created} />
      </Fact>
      <Fact name={words.columns.cost}>{costText(cost)}</Fact>
      <Fact name={words.tokensIn}>{countText(tokens.input)}</Fact>
      <Fact name={words.tokensOut}>{countText(tokens.output)}</Fact>
      {agentName === undefined ? null : (
        <Fact name={words.agent}>
          <SafeLine text={agentName} limit={80} />
        </Fact>
      )}
      {model === undefined ? null : (
        <Fact name={words.model}>
          <SafeLine text={model} limit={120} />
        </Fact>
      )}
      {parent === undefined ? null : (
        <Fact name={words.parent}>
          <a href={`/sessions/${agent}/${encodeURIComponent(parent)}`}>{words.openParent}</a>
        </Fact>
      )}
    </dl>
  );
};

/** Runs what changes a session, and says how it went. Returns whether it was done. */
const attempt = async (work: () => Promise<unknown>, done: string): Promise<boolean> => {
  try {
    await work();
    showToast(done, 'good');
    return true;
  } catch (error) {
    showFailure(error);
    return false;
  }
};

type ActionsProps = { readonly place: SessionAddress; readonly isBusy: boolean; readonly onChange: () => void };

type AskingDialogProps = {
  readonly title: string;
  readonly intro: string;
  readonly confirm: string;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
};

/** What cannot be taken back is asked about first. */
const AskingDialog = ({ title, intro, confirm, onConfirm, onClose }: AskingDialogProps) => {
  const isRunning = useSignal(false);
  const run = async (): Promise<void> => {
    isRunning.value = true;
    await onConfirm();
    isRunning.value = false;
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{intro}</p>
      <footer class="dialog-actions">
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <SteadyButton kind="danger" isBusy={isRunning.value} onClick={() => void run()}>
          {confirm}
        </SteadyButton>
      </footer>
    </Dialog>
  );
};

const Actions = ({ place, isBusy, onChange }: ActionsProps) => {
  const asking = useSignal<'abort' | 'delete' | undefined>(undefined);
  const close = (): void => {
    asking.value = undefined;
  };
  const abort = async (): Promise<void> => {
    await attempt(() => api.send('POST', `${apiPath(place)}/abort`), words.aborted);
    onChange();
  };
  const remove = async (): Promise<void> => {
    if (await attempt(() => api.send('DELETE', apiPath(place)), words.deleted)) navigate('/sessions', true);
  };
  const ask = (what: 'abort' | 'delete') => (): void => {
    asking.value = what;
  };
  return (
    <>
      <a class="button small" href={`${apiPath(place)}/export`} download>
        {words.export}
      </a>
      {isAdmin.value ? (
        <>
          {isBusy ? (
            <Button isSmall onClick={ask('abort')}>
              {words.abort}
            </Button>
          ) : null}
          <Button isSmall kind="danger" onClick={ask('delete')}>
            {words.delete}
          </Button>
        </>
      ) : null}
      {asking.value === 'abort' ? (
        <AskingDialog
          title={words.abortTitle}
          intro={words.abortIntro}
          confirm={words.abortConfirm}
          onConfirm={abort}
          onClose={close}
        />
      ) : null}
      {asking.value === 'delete' ? (
        <AskingDialog
          title={words.deleteTitle}
          intro={words.deleteIntro}
          confirm={words.deleteConfirm}
          onConfirm={remove}
          onClose={close}
        />
      ) : null}
    </>
  );
};

/** One session: what it cost, its messages with their parts, and what can be done with it. */
export const SessionPageView = ({ agent, id }: SessionAddress) => {
  const place = { agent, id };
  const detail = useMemo(
    () => createResource((abort) => api.get<SessionDetail>(apiPath({ agent, id }), abort)),
    [agent, id],
  );
  useResource(detail);
  const session = detail.value.value;
  const isBusy = session?.status === 'busy';
  usePolling(detail.load, detail.isLoading, isBusy ? POLL_MS : IDLE_POLL_MS);
  const title = session === undefined ? '' : session.title === '' ? words.untitled : session.title;
  return (
    <>
      <p class="back">
        <a href="/sessions">{words.back}</a>
      </p>
      <PageHead title={session === undefined ? words.one : <SafeLine text={title} limit={200} />}>
        {isBusy ? <Badge tone="warning">{words.busy}</Badge> : null}
        {session?.conversation === undefined || missingPart('chat') !== undefined ? null : (
          <a class="button small" href={`/chat/${agent}/${encodeURIComponent(id)}`}>
            {words.continue}
          </a>
        )}
        {session === undefined ? null : <Actions place={place} isBusy={isBusy} onChange={() => void detail.load()} />}
      </PageHead>
      <div class="stack">
        <Loaded resource={detail}>{(loaded) => <Facts session={loaded} />}</Loaded>
        <SessionMessages
          agent={agent}
          path={apiPath(place)}
          version={session && `${session.updated} ${session.status}`}
          isBusy={isBusy}
        />
      </div>
    </>
  );
};
