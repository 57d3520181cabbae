import type { Clock } from '../../../../src/core/clock.ts';
import type { RouteFault } from './names.ts';
import { type FaultResponses, type FaultSettings, pause } from './responses.ts';

/** A request with a fault: `answer` does what the platform would have done. */
type Faulty = {
  readonly request: Request;
  readonly answer: (isIgnored: boolean) => Promise<Response>;
};

type Needs = { readonly clock: Clock; readonly settings: FaultSettings; readonly responses: FaultResponses };

/** Answers a request with a fault: instead of the platform's work, or after it and instead of its answer. */
export const createRouteFaults = ({ clock, settings, responses }: Needs) => {
  const doUnseen = async (answer: Faulty['answer']): Promise<void> => (await answer(false)).body?.cancel();

  return async (fault: RouteFault, { request, answer }: Faulty): Promise<Response> => {
    if (fault.endsWith('-after')) await doUnseen(answer);
    switch (fault) {
      case 'unavailable':
      case 'unavailable-after':
        return responses.unavailable();
      case 'internal':
      case 'internal-after':
        return responses.internal();
      case 'drop':
      case 'drop-after':
        return responses.drop(request);
      case 'stuck':
      case 'stuck-after':
        return responses.never(request);
      case 'garbage':
      case 'garbage-after':
        return responses.garbage();
      case 'html':
        return responses.html();
      case 'wrong-shape':
        return responses.wrongShape();
      case 'redirect-301':
        return responses.redirect(301);
      case 'redirect-302':
        return responses.redirect(302);
      case 'redirect-307':
        return responses.redirect(307);
      case 'redirect-308':
        return responses.redirect(308);
      case 'unauthorized':
        return responses.unauthorized();
      case 'forbidden':
        return responses.forbidden();
      case 'terms':
        return responses.terms();
      case 'not-found':
        return responses.notFound();
      case 'rate-limited':
        return responses.rateLimited();
      case 'echo-key-400':
        return responses.echo(400, request);
      case 'not-modified':
        return responses.notModified();
      case 'huge':
        return responses.huge();
      case 'bomb':
        return responses.bomb();
      case 'drip':
        return responses.drip();
      case 'ignored':
        return answer(true);
      case 'slow':
        return (await pause(clock, settings.delayMs, request.signal)) ? answer(false) : responses.never(request);
    }
  };
};
