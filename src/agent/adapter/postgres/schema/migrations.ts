import { AWAITING } from '../../sql-store.ts';
import { COMMIT_GROUP, EVENT_GROUPS } from './commit-function.ts';
import { TURN_SCHEMA } from './turn-tables.ts';

/** Ids are compared byte by byte, which is the order of their creation. */
const ID = 'text COLLATE "C"';

/** The functions around tickets. The lock makes `seq` the order of a session's tickets. */
const TICKET_FUNCTIONS = `
  -- Takes a ticket, and says whether it holds the session at once.
  CREATE FUNCTION queue_ticket(in_session text, own_id text, OUT taken bigint, OUT is_first boolean) LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(in_session, 0));
    INSERT INTO ticket (session_id, server_id) VALUES (in_session, own_id) RETURNING seq INTO taken;
    is_first := NOT EXISTS (SELECT 1 FROM ticket WHERE session_id = in_session AND seq < taken);
  END $$;
  CREATE FUNCTION release_ticket(in_seq bigint, own_id text) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    released text;
  BEGIN
    -- Not awaited: after a crash of the database the server finds a ticket that it does not know, and deletes it.
    PERFORM set_config('synchronous_commit', 'off', true);
    DELETE FROM ticket WHERE seq = in_seq RETURNING session_id INTO released;
    IF FOUND AND EXISTS (SELECT 1 FROM server WHERE id <> own_id) THEN
      PERFORM pg_notify(current_schema(), json_build_object('kind', 'ticket', 'from', own_id, 'about', released)::text);
    END IF;
  END $$;
`;

const FIRST = `
  CREATE TABLE session (
    id ${ID} PRIMARY KEY,
    directory text NOT NULL, -- as JSON, like the data: so every JavaScript text comes back as it was
    parent_id ${ID},
    folded_title text NOT NULL,
    updated bigint NOT NULL,
    is_hidden boolean NOT NULL, -- begun, not completed
    begun_at timestamptz NOT NULL DEFAULT now(),
    data text NOT NULL
  );
  CREATE INDEX session_by_time ON session (updated DESC, id);
  CREATE INDEX session_by_parent ON session (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX session_hidden ON session (begun_at) WHERE is_hidden;
  -- Finds the few sessions that wait for results of client tools.
  CREATE INDEX session_awaiting ON session (id) WHERE position('${AWAITING}' IN data) > 0;
  CREATE TABLE message (
    id ${ID} PRIMARY KEY,
    session_id ${ID} NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    is_unfinished boolean NOT NULL,
    data text NOT NULL
  );
  CREATE INDEX message_by_session ON message (session_id, id);
  CREATE INDEX message_unfinished ON message (session_id) WHERE is_unfinished;
  CREATE TABLE part (
    id ${ID} PRIMARY KEY,
    message_id ${ID} NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    data text NOT NULL
  );
  CREATE INDEX part_by_message ON part (message_id, id);
  CREATE TABLE output (
    part_id ${ID} PRIMARY KEY REFERENCES part (id) ON DELETE CASCADE,
    session_id ${ID} NOT NULL,
    data text NOT NULL
  );
  CREATE TABLE owed (
    message_id ${ID} PRIMARY KEY REFERENCES message (id) ON DELETE CASCADE,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    session_id ${ID} NOT NULL,
    is_begun boolean NOT NULL
  );
  CREATE INDEX owed_by_session ON owed (session_id);
  CREATE TABLE event (
    id ${ID} PRIMARY KEY,
    session_id ${ID},
    directory text NOT NULL,
    data text NOT NULL
  );
  CREATE INDEX event_by_session ON event (session_id) WHERE session_id IS NOT NULL;
  CREATE TABLE event_mark (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    newest ${ID} NOT NULL DEFAULT '', -- the newest that was deleted, for whatever reason
    forgotten ${ID} NOT NULL DEFAULT '' -- the newest that was deleted for its age, not with its session
  );
  INSERT INTO event_mark DEFAULT VALUES;

  -- Servers that are alive. Deleting one deletes its tickets and requests.
  CREATE TABLE server (
    id ${ID} PRIMARY KEY,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    batch bigint NOT NULL DEFAULT 0, -- its last group of commits, and the reply to it
    result text
  );
  CREATE TABLE ticket (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id ${ID} NOT NULL,
    server_id ${ID} NOT NULL REFERENCES server (id) ON DELETE CASCADE,
    status text NOT NULL DEFAULT '{"type":"busy"}',
    to_end text[] -- the prompts to abort; empty: all
  );
  CREATE INDEX ticket_by_session ON ticket (session_id, seq);
  CREATE INDEX ticket_by_server ON ticket (server_id);
  CREATE TABLE ask (
    id ${ID} PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    server_id ${ID} NOT NULL REFERENCES server (id) ON DELETE CASCADE,
    data text NOT NULL,
    outcome text
  );
  CREATE INDEX ask_by_server ON ask (server_id);
  -- What the reply always has allowed, in one session and for an hour.
  CREATE TABLE standing_rule (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id ${ID} NOT NULL UNIQUE,
    session_id ${ID} NOT NULL,
    until bigint NOT NULL,
    uses bigint NOT NULL DEFAULT 0,
    data text NOT NULL
  );
  -- Decisions about permission requests; they outlive their sessions.
  CREATE TABLE decision (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id ${ID} NOT NULL UNIQUE,
    is_asked boolean NOT NULL, -- false: the call ran under a standing rule
    place bigint NOT NULL, -- among those of its kind; two at once may have the same
    data text NOT NULL
  );
  CREATE INDEX decision_by_kind ON decision (is_asked, place);
  ${EVENT_GROUPS}
  ${TICKET_FUNCTIONS}
  ${COMMIT_GROUP}
`;

/** The migration from version n to n + 1, at index n. What a released one does is never changed. */
export const POSTGRES_MIGRATIONS: readonly string[] = [`${FIRST}${TURN_SCHEMA}`];
