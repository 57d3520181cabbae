import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { plainLine } from '../format/hostile.ts';
import { Icon } from '../parts/icon.tsx';
import { showFailure } from '../parts/states.tsx';
import { standingRules, waitingCount } from '../state/approvals.ts';
import { pageName } from '../state/attention.ts';
import { connection, startLive } from '../state/live.ts';
import { path, pathPieces } from '../state/route.ts';
import { logOut, me, visitor } from '../state/visitor.ts';
import { texts } from '../texts.ts';
import { VIEWS, viewOf } from '../views/views.ts';
import { Brand } from './brand.tsx';
import { ServicesSummary, useServiceNews } from './service-states.tsx';
import { Stage } from './stage.tsx';

/** The sign that calls run without asking now. */
const Standing = () =>
  standingRules.value.length === 0 ? null : (
    <span class="bad-text" role="img" aria-label={texts.nav.standing} title={texts.nav.standing}>
      <Icon name="warning" />
    </span>
  );

const Navigation = ({ isOpen }: { readonly isOpen: boolean }) => {
  const current = viewOf(pathPieces.value);
  return (
    <nav id="navigation" class={isOpen ? 'open' : ''} aria-label={texts.nav.label}>
      <a class="home" href="/">
        <Brand />
      </a>
      <ul>
        {VIEWS.map((view) => (
          <li key={view.piece}>
            <a href={`/${view.piece}`} aria-current={view === current ? 'page' : undefined}>
              <Icon name={view.icon} />
              <span>{view.name}</span>
              {view.piece === '' ? <Standing /> : null}
              {view.piece === '' && waitingCount.value > 0 ? (
                <span class="count">
                  {waitingCount}
                  <span class="visually-hidden"> {texts.nav.waiting(waitingCount.value)}</span>
                </span>
              ) : null}
            </a>
          </li>
        ))}
      </ul>
      <div class="nav-foot">
        <ServicesSummary />
        <Who />
      </div>
    </nav>
  );
};

/** Who goes away must see that the session has not ended. */
const leave = (): Promise<void> => logOut().catch((error: unknown) => showFailure(error));

const Who = () => {
  const who = visitor.value;
  if (who === null) return null;
  const login = me.value?.login;
  return (
    <div class="who">
      <span class="who-name">
        <bdi>{plainLine(who.name, 40)}</bdi>
        <span class="muted">{login === 'none' ? texts.visitor.local : texts.visitor.roles[who.role]}</span>
      </span>
      {login === 'password' ? (
        <button
          type="button"
          class="button quiet icon-only"
          aria-label={texts.visitor.logOut}
          onClick={() => void leave()}
        >
          <Icon name="logOut" />
        </button>
      ) : null}
    </div>
  );
};

const useLive = (): void => {
  useEffect(startLive, []);
};

/** The frame around every view: navigation, services, visitor, and whether the page hears from the console. */
export const Frame = () => {
  const isMenuOpen = useSignal(false);
  useLive();
  useServiceNews();
  const current = viewOf(pathPieces.value);
  useEffect(() => {
    isMenuOpen.value = false;
    pageName.value = current?.name ?? texts.states.noPage;
  }, [path.value]);
  useEffect(() => {
    const close = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') isMenuOpen.value = false;
    };
    addEventListener('keydown', close);
    return () => removeEventListener('keydown', close);
  }, []);
  return (
    <div class="frame">
      <a class="skip" href="#page-title">
        {texts.skipToContent}
      </a>
      <header class="top">
        <a class="home" href="/">
          <Brand />
        </a>
        <Standing />
        {waitingCount.value > 0 ? (
          <a class="count" href="/" aria-label={texts.nav.waiting(waitingCount.value)}>
            {waitingCount}
          </a>
        ) : null}
        <button
          type="button"
          class="button quiet menu-button"
          aria-expanded={isMenuOpen.value}
          aria-controls="navigation"
          onClick={() => {
            isMenuOpen.value = !isMenuOpen.value;
          }}
        >
          <Icon name={isMenuOpen.value ? 'close' : 'menu'} /> {texts.nav.menu}
        </button>
      </header>
      <Navigation isOpen={isMenuOpen.value} />
      <main>
        <p class={`lost${connection.value === 'lost' ? ' shown' : ''}`} role="status">
          {connection.value === 'lost' ? texts.connection.lost : ''}
        </p>
        <Stage view={current} />
      </main>
    </div>
  );
};
