import { PageHead } from '../../parts/page-head.tsx';
import { texts } from '../../texts.ts';

export const ChatView = () => <PageHead title={texts.nav.chat} />;
