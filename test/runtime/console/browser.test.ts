// One browser for these: to start it costs more than most of their checks.
import './approvals.checks.ts';
import './chat.checks.ts';
import './moderation.checks.ts';
