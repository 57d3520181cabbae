import { pathPieces } from '../../state/route.ts';
import { SessionDetail } from './detail.tsx';
import { SessionList } from './list.tsx';

/** All sessions, or the one that the path names. */
export const SessionsView = () => {
  const [, agent, id] = pathPieces.value;
  return agent !== undefined && id !== undefined ? (
    <SessionDetail key={`${agent}/${id}`} agent={agent} id={id} />
  ) : (
    <SessionList />
  );
};
