import { TURN_CHANGES } from './turn-tables.ts';

/** The number of the group in an event id, and the place of the event in it. */
const PLACE_DIGITS = 14;
const NUMBER_DIGITS = 12;

/** The id of an event: as long as other ids, and in the order of groups and of places in a group. */
export const eventIDOf = (group: number, place: number): string =>
  `${beforeGroup(group)}${String(place).padStart(PLACE_DIGITS, '0')}`;
/** A text that sorts after the events of all earlier groups and before those of this one. */
export const beforeGroup = (group: number): string => `evt_${group.toString(16).padStart(NUMBER_DIGITS, '0')}`;
/** The number of the group of an event. */
export const groupOf = (eventID: string): number => Number.parseInt(eventID.slice(4, 4 + NUMBER_DIGITS), 16);

/**
 * The order of events. A group of commits takes a number when its events are all that is left to store, and holds a shared
 * advisory lock from before that moment until it has ended. The lock's key is the newest number when it was taken, so the
 * group's own number is greater. A reader of the newest number first and the locks second knows up to which number every
 * group has ended. PostgreSQL releases a lock after the rows are visible, and also when a connection dies.
 */
export const EVENT_GROUPS = `
  CREATE SEQUENCE event_group;
  -- Until the first number is taken, the last value would be one that no group has had.
  SELECT nextval('event_group');

  CREATE FUNCTION event_id(number bigint, place bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'evt_' || lpad(to_hex(number), ${NUMBER_DIGITS}, '0') || lpad(place::text, ${PLACE_DIGITS}, '0')
  $$;
  -- Greater than the known one: a replica that has become the primary may have lost the newest numbers, which servers know.
  CREATE FUNCTION next_event_group(known bigint) RETURNS bigint LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM nextval('event_group') FROM event_group, generate_series(last_value + 1, known);
    PERFORM pg_advisory_xact_lock_shared(('event_group'::regclass::oid::bigint & 2147483647)::int, (last_value & 2147483647)::int)
    FROM event_group;
    RETURN nextval('event_group');
  END $$;
  -- Every group up to this number has ended: its events can be seen, or it has none.
  CREATE FUNCTION settled_group() RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    newest bigint;
    behind bigint;
  BEGIN
    SELECT last_value INTO newest FROM event_group;
    -- A key holds 31 bits. One that is ahead of the newest number was taken after that was read.
    SELECT max((newest - objid::bigint) & 2147483647) INTO behind FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND classid = ('event_group'::regclass::oid::bigint & 2147483647)::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (newest - objid::bigint) & 2147483647 < 1073741824;
    RETURN newest - coalesce(behind, 0);
  END $$;
  -- The settled group first, then events up to it. The rows are read after it, or some could be missed.
  CREATE FUNCTION settled_events(known bigint, after_id text, before_id text, in_directory text, rows_limit bigint)
  RETURNS TABLE (settled bigint, event_id text, event_directory text, event_data text) LANGUAGE plpgsql AS $$
  BEGIN
    settled := greatest(known, settled_group());
    RETURN NEXT;
    RETURN QUERY SELECT settled, id, directory, data FROM event
      WHERE id > after_id AND id < least(before_id COLLATE "C", event_id(settled + 1, 0))
        AND (in_directory IS NULL OR directory = in_directory)
      ORDER BY id LIMIT rows_limit;
  END $$;
`;

/** How many sessions a group locks one by one. */
const LOCKED_SESSIONS = 500;

/**
 * Commits a group of tasks in one round trip, as a whole or not at all, and once: sent again under its batch number, it gets
 * the same reply. It waits for running commits of the same sessions, and for no others. `steps` are the changes of all tasks
 * and the leases that they need, `drafts` their events; one without a directory keeps its place and is not stored. The number of their
 * group is greater than `known_group`. The reply holds the number of its events' group, or null without
 * events, whether there are other servers, and the tickets that were taken; it is null when the server is not a member any more. A task that refers to a
 * missing row ends the group with the error GH001, whose detail is the number of the task.
 */
export const COMMIT_GROUP = `
  CREATE FUNCTION commit_group(own_id text, number bigint, known_group bigint, session_ids json, steps json, drafts json) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    all_sessions constant bigint := hashtextextended(current_schema(), 2);
    known record;
    given record;
    last_id text;
    refusal text;
    group_number bigint;
    stored bigint;
    tickets jsonb;
    answer text;
  BEGIN
    SELECT batch, result INTO known FROM server WHERE id = own_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    -- Sent again, or so late that a later group was stored: the server has given this one up.
    IF known.batch >= number THEN RETURN known.result; END IF;
    -- The database has some thousands of locks in all. A group of very many sessions, such as the removal of a large family,
    -- has all of them with one.
    IF json_array_length(session_ids) > ${LOCKED_SESSIONS} THEN
      PERFORM pg_advisory_xact_lock(all_sessions);
    ELSE
      PERFORM pg_advisory_xact_lock_shared(all_sessions);
      -- In one order, so that two groups never wait for each other.
      PERFORM pg_advisory_xact_lock(key)
      FROM (SELECT DISTINCT hashtextextended(value, 1) AS key FROM json_array_elements_text(session_ids) ORDER BY key) AS ordered;
    END IF;
    FOR given IN SELECT * FROM json_to_recordset(steps) AS one (task integer, kind text, id text, session text, message text,
      data text, before text, directory text, parent text, title text, updated bigint, unfinished boolean, ids json, state text, owner text, key text, digest text)
    LOOP
      CASE given.kind
      WHEN 'lease' THEN
        -- Locked: a server that takes over waits for this commit, and sees it.
        PERFORM 1 FROM ticket WHERE seq = given.id::bigint FOR KEY SHARE;
        IF NOT FOUND THEN refusal := 'lease'; END IF;
      WHEN 'session' THEN
        IF given.before IS NOT NULL THEN
          PERFORM 1 FROM session WHERE id = given.id AND data = given.before AND NOT is_hidden;
          IF NOT FOUND THEN refusal := 'stale'; END IF;
        END IF;
        IF refusal IS NULL THEN
          INSERT INTO session (id, directory, parent_id, folded_title, updated, is_hidden, data)
          VALUES (given.id, given.directory, given.parent, given.title, given.updated, false, given.data)
          ON CONFLICT (id) DO UPDATE SET directory = excluded.directory, parent_id = excluded.parent_id,
            folded_title = excluded.folded_title, updated = excluded.updated, is_hidden = false, data = excluded.data;
        END IF;
      WHEN 'session-begun' THEN
        DELETE FROM session WHERE id = given.id AND is_hidden;
        INSERT INTO session (id, directory, parent_id, folded_title, updated, is_hidden, data)
        VALUES (given.id, given.directory, given.parent, given.title, given.updated, true, given.data)
        ON CONFLICT (id) DO NOTHING;
        IF NOT FOUND THEN refusal := 'session'; END IF;
      WHEN 'session-given-up' THEN
        DELETE FROM session WHERE id = given.id AND is_hidden;
      WHEN 'session-removed' THEN
        WITH gone AS (DELETE FROM event WHERE session_id = given.id RETURNING id) SELECT max(id) INTO last_id FROM gone;
        UPDATE event_mark SET newest = last_id WHERE newest < last_id;
        DELETE FROM standing_rule WHERE session_id = given.id;
        DELETE FROM session WHERE id = given.id;
      WHEN 'message' THEN
        INSERT INTO message (id, session_id, is_unfinished, data)
        SELECT given.id, given.session, given.unfinished, given.data
        WHERE EXISTS (SELECT 1 FROM session WHERE id = given.session)
        ON CONFLICT (id) DO UPDATE SET is_unfinished = excluded.is_unfinished, data = excluded.data
        WHERE message.session_id = excluded.session_id;
        IF NOT FOUND THEN refusal := 'message'; END IF;
      WHEN 'messages-removed' THEN
        DELETE FROM message WHERE session_id = given.session
          AND id IN (SELECT value FROM json_array_elements_text(given.ids));
      WHEN 'parts-removed' THEN
        DELETE FROM part WHERE id IN (SELECT value FROM json_array_elements_text(given.ids))
          AND message_id IN (SELECT message.id FROM message WHERE session_id = given.session);
      WHEN 'part' THEN
        INSERT INTO part (id, message_id, data) SELECT given.id, given.message, given.data
        WHERE EXISTS (SELECT 1 FROM message WHERE id = given.message AND session_id = given.session)
        ON CONFLICT (id) DO UPDATE SET data = excluded.data WHERE part.message_id = excluded.message_id;
        IF NOT FOUND THEN refusal := 'part'; END IF;
      WHEN 'part-still' THEN
        PERFORM 1 FROM part JOIN message ON message.id = part.message_id
        WHERE part.id = given.id AND part.message_id = given.message AND message.session_id = given.session;
        IF NOT FOUND THEN refusal := 'part'; END IF;
      WHEN 'output' THEN
        INSERT INTO output (part_id, session_id, data) SELECT given.id, given.session, given.data
        WHERE EXISTS (SELECT 1 FROM part JOIN message ON message.id = part.message_id
          WHERE part.id = given.id AND message.session_id = given.session)
        ON CONFLICT (part_id) DO UPDATE SET data = excluded.data;
        IF NOT FOUND THEN refusal := 'output'; END IF;
      WHEN 'answer' THEN
        IF given.state = 'ended' THEN
          DELETE FROM owed WHERE message_id = given.id AND session_id = given.session;
        ELSE
          INSERT INTO owed (message_id, session_id, is_begun) SELECT given.id, given.session, given.state = 'begun'
          WHERE EXISTS (SELECT 1 FROM message WHERE id = given.id AND session_id = given.session)
          ON CONFLICT (message_id) DO UPDATE SET is_begun = excluded.is_begun;
          IF NOT FOUND THEN refusal := 'message'; END IF;
        END IF;
${TURN_CHANGES}      WHEN 'ticket' THEN
        -- The session's lock is held: nothing of it changes from here on.
        SELECT coalesce(tickets, '[]') || jsonb_build_object('task', given.task, 'seq', taken::text, 'isFirst', is_first,
          'isUntouched', NOT EXISTS (SELECT 1 FROM owed WHERE session_id = given.session AND is_begun)) INTO tickets
        FROM queue_ticket(given.session, own_id);
      END CASE;
      IF refusal IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'GH001', MESSAGE = refusal, DETAIL = given.task::text;
      END IF;
    END LOOP;
    IF json_array_length(drafts) > 0 THEN
      -- Last: from here to the end of the transaction readers of events wait for it.
      group_number := next_event_group(known_group);
      INSERT INTO event (id, session_id, directory, data)
      SELECT event_id(group_number, place), session, directory, data
      FROM ROWS FROM (json_to_recordset(drafts) AS (session text, directory text, data text))
        WITH ORDINALITY AS draft (session, directory, data, place)
      WHERE directory IS NOT NULL;
      GET DIAGNOSTICS stored = ROW_COUNT;
      IF stored < json_array_length(drafts) THEN
        last_id := event_id(group_number, json_array_length(drafts));
        UPDATE event_mark SET newest = last_id WHERE newest < last_id;
      END IF;
    END IF;
    answer := json_build_object('number', group_number, 'others', EXISTS (SELECT 1 FROM server WHERE id <> own_id), 'tickets', tickets)::text;
    -- Counts as a heartbeat, which may have waited for this row.
    UPDATE server SET batch = number, result = answer, seen_at = clock_timestamp() WHERE id = own_id;
    RETURN answer;
  END $$;
`;
