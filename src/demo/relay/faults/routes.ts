import type { RelayWorld } from '../world.ts';
import type { RouteFault } from './names.ts';
import { pause, type Trouble } from './responses.ts';

/** A request with a fault in its way: `answer` is what the platform would have done and said. */
type Faulty = {
  readonly request: Request;
  readonly answer: (isIgnored: boolean) => Promise<Response>;
};

type FaultNeeds = { readonly world: RelayWorld; readonly trouble: Trouble };

/** Brings a fault upon a request: in place of the platform's work, or after it and instead of its answer. */
export const createRouteFaults = ({ world, trouble }: FaultNeeds) => {
  const doUnseen = async (answer: Faulty['answer']): Promise<void> => (await answer(false)).body?.cancel();

  return async (fault: RouteFault, { request, answer }: Faulty): Promise<Response> => {
    if (fault.endsWith('-after')) await doUnseen(answer);
    switch (fault) {
      case 'unavailable':
      case 'unavailable-after':
        return trouble.unavailable();
      case 'internal':
      case 'internal-after':
        return trouble.internal();
      case 'drop':
      case 'drop-after':
        return trouble.drop(request);
      case 'stuck':
      case 'stuck-after':
        return trouble.never(request);
      case 'garbage':
      case 'garbage-after':
        return trouble.garbage();
      case 'html':
        return trouble.html();
      case 'wrong-shape':
        return trouble.wrongShape();
      case 'redirect-301':
        return trouble.redirect(301);
      case 'redirect-302':
        return trouble.redirect(302);
      case 'redirect-307':
        return trouble.redirect(307);
      case 'redirect-308':
        return trouble.redirect(308);
      case 'unauthorized':
        return trouble.unauthorized();
      case 'forbidden':
        return trouble.forbidden();
      case 'terms':
        return trouble.terms();
      case 'not-found':
        return trouble.notFound();
      case 'rate-limited':
        return trouble.rateLimited();
      case 'echo-key-400':
        return trouble.echo(400, request);
      case 'not-modified':
        return trouble.notModified();
      case 'huge':
        return trouble.huge();
      case 'bomb':
        return trouble.bomb();
      case 'drip':
        return trouble.drip();
      case 'ignored':
        return answer(true);
      case 'slow':
        return (await pause(world.clock, world.dials.delayMs, request.signal)) ? answer(false) : trouble.never(request);
    }
  };
};
