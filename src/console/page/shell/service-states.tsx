import { useEffect } from 'preact/hooks';
import type { ServiceState } from '../../protocol.ts';
import { serviceName } from '../parts/service-name.ts';
import { connection, services } from '../state/live.ts';
import { showToast } from '../state/toasts.ts';
import { texts } from '../texts.ts';

const words = texts.services;

/** One line about all services; the settings page has each. */
export const ServicesSummary = () => {
  const all = services.value;
  const countOf = (wanted: ServiceState['state']): number => all?.filter(({ state }) => state === wanted).length ?? 0;
  const [down, notReady] = [countOf('down'), countOf('not-ready')];
  const isLost = connection.value === 'lost';
  const text = (): string => {
    if (isLost) return words.lost;
    if (all === undefined) return words.unknown;
    if (all.length === 0) return words.none;
    if (down > 0) return words.down(down, all.length);
    return notReady > 0 ? words.notReady(notReady, all.length) : words.allUp;
  };
  const worst = down > 0 ? 'bad' : notReady > 0 ? 'warning' : 'good';
  const tone = all === undefined || all.length === 0 || isLost ? 'plain' : worst;
  return (
    <a class="services" href="/settings">
      <span class={`dot ${tone}`} aria-hidden="true" />
      {text()}
    </a>
  );
};

const stateKey = ({ part, address }: ServiceState): string => `${part} ${address ?? ''}`;

/** Tells of services that went down or came back while the page is open. */
export const useServiceNews = (): void => {
  useEffect(() => {
    let before: ReadonlyMap<string, string> | undefined;
    return services.subscribe((all) => {
      if (all === undefined) return;
      for (const one of all) {
        const was = before?.get(stateKey(one));
        if (was === undefined || was === one.state) continue;
        if (one.state === 'down') showToast(words.wentDown(serviceName(one, all)), 'bad');
        else if (one.state === 'not-ready') showToast(words.notUsable(serviceName(one, all)), 'warning');
        else showToast(words.cameBack(serviceName(one, all)), 'good');
      }
      before = new Map(all.map((one) => [stateKey(one), one.state]));
    });
  }, []);
};
