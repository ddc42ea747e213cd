-- The service works under a role that may add rows to the books and never change or delete one.
--
-- Migrations run as the database's owner; the service's connections SET ROLE to onefold_service. A role
-- belongs to the whole cluster, so another database's migration may be creating it at this very moment:
-- that is tolerated. Where the owner may not create roles, the migration goes on without: the service then
-- works as the owner, and says at its start what is not enforced.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        CREATE ROLE onefold_service NOLOGIN;
    END IF;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;
    WHEN insufficient_privilege THEN NULL;
END
$$;

-- A superuser may SET ROLE to anything; an ordinary owner must be a member. A grant that another database's
-- migration makes at the same moment can fail with "tuple concurrently updated" (XX000), so it is tried again.
DO $$
BEGIN
    FOR attempt IN 1..5 LOOP
        BEGIN
            IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service')
                AND NOT pg_has_role(current_user, 'onefold_service', 'MEMBER')
            THEN
                EXECUTE format('GRANT onefold_service TO %I', current_user);
            END IF;
            EXIT;
        EXCEPTION
            WHEN internal_error OR unique_violation THEN PERFORM pg_sleep(0.05 * attempt);
            WHEN insufficient_privilege THEN EXIT;
        END;
    END LOOP;
END
$$;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'onefold_service') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO onefold_service', current_schema());
    END IF;
END
$$;
