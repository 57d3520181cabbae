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
  const down = all?.filter(({ state }) => state === 'down').length ?? 0;
  const isLost = connection.value === 'lost';
  const text = (): string => {
    if (all === undefined) return words.unknown;
    if (all.length === 0) return words.none;
    return down === 0 ? words.allUp : words.down(down, all.length);
  };
  const tone = all === undefined || all.length === 0 || isLost ? 'plain' : down === 0 ? 'good' : 'bad';
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
        else showToast(words.cameBack(serviceName(one, all)), 'good');
      }
      before = new Map(all.map((one) => [stateKey(one), one.state]));
    });
  }, []);
};
