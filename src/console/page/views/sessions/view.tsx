import { pathPieces } from '../../state/route.ts';
import { SessionList } from './list.tsx';
import { SessionPageView } from './session.tsx';

/** The list of sessions, or one of them: `/sessions/0/ses_1` is a session of the first agent server. */
export const SessionsView = () => {
  const [, agent, id] = pathPieces.value;
  const isOne = agent !== undefined && /^\d{1,4}$/.test(agent) && id !== undefined;
  return isOne ? <SessionPageView key={`${agent}/${id}`} agent={Number(agent)} id={id} /> : <SessionList />;
};
