import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ListedConversation, SessionPage } from '../../../protocol.ts';
import { compactText, costText, countText } from '../../format/numbers.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { Empty, Failure, Loading } from '../../parts/states.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { Time } from '../../parts/time.tsx';
import { UnreadAgents } from '../../parts/unread-agents.tsx';
import { createPages } from '../../state/pages.ts';
import { api } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';

const { columns, ...words } = texts.sessions;

const PER_PAGE = 100;
const TYPING_MS = 250;

/** Kept while another page is shown: a user who comes back from a session finds the list as it was. */
const search = signal('');
/** The agent servers that a page of the list is without. */
const unread = signal<readonly number[]>([]);
const pages = createPages<ListedConversation>({
  fetchPage: async (before, abort) => {
    const query = new URLSearchParams({ limit: String(PER_PAGE) });
    if (search.peek().trim() !== '') query.set('search', search.peek().trim());
    if (before !== undefined) query.set('before', before);
    const { sessions, next, ...answer } = await api.get<SessionPage>(`/api/sessions?${query}`, abort);
    const earlier = before === undefined ? [] : unread.peek();
    unread.value = [...new Set([...earlier, ...answer.unread])];
    return { items: sessions, next };
  },
  keyOf: ({ agent, id }) => `${agent}/${id}`,
  join: (known, added) => [...known, ...added],
});

const pathOf = ({ agent, id }: ListedConversation): string => `/sessions/${agent}/${encodeURIComponent(id)}`;

const Row = ({ session }: { readonly session: ListedConversation }) => {
  const { title, updated, cost, tokens, status, parent } = session;
  return (
    <tr>
      <td data-label={columns.title}>
        <span>
          <a href={pathOf(session)}>
            <SafeLine text={title === '' ? words.untitled : title} limit={160} />
          </a>{' '}
          {status === 'busy' ? <Badge tone="warning">{words.busy}</Badge> : null}
          {parent === undefined ? null : <Badge>{words.task}</Badge>}
        </span>
      </td>
      <td data-label={columns.updated}>
        <Time at={updated} />
      </td>
      <td class="number" data-label={columns.tokens} title={words.tokensTitle(tokens.input, tokens.output)}>
        {compactText(tokens.input + tokens.output)}
      </td>
      <td class="number" data-label={columns.cost}>
        {costText(cost)}
      </td>
    </tr>
  );
};

const SearchField = () => {
  useEffect(() => {
    const timer = setTimeout(() => void pages.loadFirst(), TYPING_MS);
    return () => clearTimeout(timer);
  }, [search.value]);
  return (
    <label class="field session-search">
      <span class="visually-hidden">{words.search}</span>
      <input
        type="search"
        maxLength={200}
        placeholder={words.search}
        autocomplete="off"
        value={search}
        onInput={(event) => {
          search.value = event.currentTarget.value;
        }}
      />
    </label>
  );
};

const More = () =>
  pages.hasMore.value ? (
    <p class="more">
      <Button isBusy={pages.isLoading.value} onClick={() => void pages.loadMore()}>
        {words.more}
      </Button>
    </p>
  ) : null;

const Rows = () => {
  const items = pages.items.value;
  if (items === undefined) return pages.failure.value === undefined ? <Loading /> : null;
  // What a server has that was not read is not known.
  if (items.length === 0 && unread.value.length > 0) return null;
  if (items.length === 0)
    return search.value.trim() === '' ? (
      <Empty title={words.empty} hint={words.emptyHint} />
    ) : (
      <Empty title={words.nothingFound} />
    );
  return (
    <>
      <table class="table stacked session-table">
        <TableHead columns={[columns.title, columns.updated, [columns.tokens, 'number'], [columns.cost, 'number']]} />
        <tbody>
          {items.map((session) => (
            <Row key={`${session.agent}/${session.id}`} session={session} />
          ))}
        </tbody>
      </table>
      <More />
    </>
  );
};

/** All sessions, the latest first, found by their titles and loaded page by page. */
export const SessionList = () => {
  useEffect(() => pages.stop, []);
  const failure = pages.failure.value;
  const count = pages.items.value?.length;
  return (
    <>
      <PageHead title={words.title} intro={words.intro}>
        <Button isSmall isBusy={pages.isLoading.value} onClick={() => void pages.loadFirst()}>
          <Icon name="refresh" /> {texts.states.refresh}
        </Button>
      </PageHead>
      <div>
        <SearchField />
        <p class="visually-hidden" role="status">
          {count === undefined ? '' : words.shown(countText(count), pages.hasMore.value)}
        </p>
      </div>
      {failure === undefined ? null : <Failure failure={failure} onRetry={() => void pages.loadFirst()} />}
      <UnreadAgents agents={unread.value} sentence={words.unread} />
      <Rows />
    </>
  );
};
