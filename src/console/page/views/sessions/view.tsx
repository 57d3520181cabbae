import { PageHead } from '../../parts/page-head.tsx';
import { texts } from '../../texts.ts';

export const SessionsView = () => <PageHead title={texts.nav.sessions} />;
