import type { Check } from '../../check.ts';
import { checkCommits } from './contract/commits.ts';
import { checkConversations } from './contract/conversations.ts';
import { checkEvents } from './contract/events.ts';
import { checkLasting } from './contract/lasting.ts';
import { placesOf, type StoreKind } from './contract/places.ts';
import { checkRandomCommits } from './contract/random-commits.ts';
import { checkSessions } from './contract/sessions.ts';
import { checkTexts } from './contract/texts.ts';
import { checkTurns } from './contract/turns.ts';

/** What every store promises, whatever it keeps things in. */
export const checkStore = (check: Check, kind: StoreKind): void => {
  const places = placesOf(kind);
  checkConversations(check, places);
  checkCommits(check, places);
  checkSessions(check, places);
  checkEvents(check, places);
  checkTexts(check, places);
  checkTurns(check, places);
  checkRandomCommits(check, places);
  checkLasting(check, places);
};
