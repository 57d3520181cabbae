import { agentServices } from '../state/live.ts';
import { agentName } from './service-name.ts';

type UnreadAgentsProps = {
  /** Their positions. */
  readonly agents: readonly number[];
  /** What is missing because of the agent server of this name. */
  readonly sentence: (agent: string) => string;
};

/** Says for each agent server that was not read what is therefore missing. */
export const UnreadAgents = ({ agents, sentence }: UnreadAgentsProps) => (
  <>
    {agents.map((agent) => (
      <p key={agent} class="notice" role="status">
        {sentence(agentName(agent, agentServices.value[agent]?.address ?? ''))}
      </p>
    ))}
  </>
);
