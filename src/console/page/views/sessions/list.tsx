import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ApiError } from '../../api/request.ts';
import type { SessionPage, SessionSummary } from '../../api/types.ts';
import { compactText, costText } from '../../format/numbers.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { Empty, failureText, Loaded } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { createResource } from '../../state/resource.ts';
import { showToast } from '../../state/toasts.ts';
import { api } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';

const { columns, ...words } = texts.sessions;

const PAGE_SIZE = 100;
const TYPING_PAUSE_MS = 250;

const search = signal('');
const isAdding = signal(false);

const addressOf = (before?: string): string => {
  const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
  if (search.peek().trim() !== '') query.set('search', search.peek().trim());
  if (before !== undefined) query.set('before', before);
  return `/api/sessions?${query}`;
};

const sessions = createResource((abort) => api.get<SessionPage>(addressOf(), abort));

const addMore = async (): Promise<void> => {
  const shown = sessions.value.peek();
  if (shown?.next === undefined || isAdding.peek()) return;
  isAdding.value = true;
  try {
    const more = await api.get<SessionPage>(addressOf(shown.next));
    // A search that began meanwhile has another list.
    if (sessions.value.peek() === shown)
      sessions.value.value = { ...more, sessions: [...shown.sessions, ...more.sessions] };
  } catch (error) {
    showToast(error instanceof ApiError ? failureText(error) : String(error), 'bad');
  }
  isAdding.value = false;
};

const Row = ({ session }: { readonly session: SessionSummary }) => (
  <tr>
    <td data-label={columns.title} class="wide">
      <a href={`/sessions/${session.agent}/${encodeURIComponent(session.id)}`}>
        <SafeLine text={session.title === '' ? texts.approvals.untitled : session.title} limit={160} />
      </a>{' '}
      {session.status === undefined || session.status === 'idle' ? null : (
        <Badge tone="warning">{words.states[session.status]}</Badge>
      )}
    </td>
    <td data-label={columns.updated}>
      <Time at={session.updated} />
    </td>
    <td data-label={columns.tokens} class="number">
      {words.inAndOut(compactText(session.tokens.input), compactText(session.tokens.output))}
    </td>
    <td data-label={columns.cost} class="number">
      {costText(session.cost)}
    </td>
  </tr>
);

const Rows = ({ page }: { readonly page: SessionPage }) => {
  if (page.sessions.length === 0)
    return search.value.trim() === '' ? (
      <Empty title={words.empty} hint={words.emptyHint} />
    ) : (
      <Empty title={words.nothingFound} />
    );
  return (
    <>
      <table class="table stacked">
        <thead>
          <tr>
            <th scope="col">{columns.title}</th>
            <th scope="col">{columns.updated}</th>
            <th scope="col" class="number">
              {columns.tokens}
            </th>
            <th scope="col" class="number">
              {columns.cost}
            </th>
          </tr>
        </thead>
        <tbody>
          {page.sessions.map((session) => (
            <Row key={`${session.agent}/${session.id}`} session={session} />
          ))}
        </tbody>
      </table>
      {page.next === undefined ? null : (
        <p>
          <Button isBusy={isAdding.value} onClick={() => void addMore()}>
            {words.more}
          </Button>
        </p>
      )}
    </>
  );
};

/** The sessions of all agent servers, the latest first, with a search by title. */
export const SessionList = () => {
  useEffect(() => {
    // At once when the view appears, and after a pause in typing.
    const timer = setTimeout(() => void sessions.load(), sessions.value.peek() === undefined ? 0 : TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [search.value]);
  useEffect(() => sessions.stop, []);
  return (
    <>
      <PageHead title={words.title} intro={words.intro}>
        <input
          class="plain search"
          type="search"
          aria-label={words.search}
          placeholder={words.search}
          value={search.value}
          onInput={(event) => {
            search.value = event.currentTarget.value;
          }}
        />
      </PageHead>
      <div class="stack">
        <Loaded resource={sessions}>{(page) => <Rows page={page} />}</Loaded>
      </div>
    </>
  );
};
