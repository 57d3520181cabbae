import { PageHead } from '../../parts/page-head.tsx';
import { texts } from '../../texts.ts';

export const ModerationView = () => <PageHead title={texts.nav.moderation} />;
