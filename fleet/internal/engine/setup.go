package engine

import (
	"fmt"
	"hash/fnv"
	"time"
)

// Names of streams and buckets.
const (
	Tasks     = "TASKS"
	Questions = "QUESTIONS"
	Schedules = "SCHEDULES"
	Blobs     = "BLOBS"
	// Audit is the stream of who has done what. Nobody can change it, or remove what is younger than [AuditTime].
	Audit = "AUDIT"
)

// AuditTime is how long it is kept who has done what.
const AuditTime = 400 * 24 * time.Hour

// Shards is over how many streams sessions are spread: each stream waits for its own writes to
// the disk, and those of several are written together.
const Shards = 8

// ShardOf is the shard of everything that belongs to a session.
func ShardOf(session string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(session))
	return h.Sum32() % Shards
}

// Journals is the stream of the journals of a shard.
func Journals(shard uint32) string { return fmt.Sprintf("J%d", shard%Shards) }

// Sessions is the stream of what is known about the sessions of a shard beside their journals:
// prompts, outcomes and witnesses.
func Sessions(shard uint32) string { return fmt.Sprintf("S%d", shard%Shards) }

// Runs is the bucket of the runs of a shard.
func Runs(shard uint32) string { return fmt.Sprintf("RUNS%d", shard%Shards) }

// Limits are those of a tenant; zero means none.
type Limits struct {
	// Queued is how many runs may have something to do.
	Queued int
	// Running is how many of them workers may lead at once, for each label and priority.
	Running int
	// Previous lets workers of the previous version work, which replace stored contents by rolling them up. A
	// message that rolls up may also remove everything.
	Previous bool
}

// Layout is the version of names and formats in the engine. It changes when programs of the
// version before would not find or not understand something; what is only added leaves it.
const Layout = "2"

// A layoutError says that another version keeps things in another way.
type layoutError struct{ found string }

func (e *layoutError) Error() string {
	return fmt.Sprintf("the server stores its runs in layout %s, but this haft-fleet uses layout %s: use the server's version of haft-fleet, or archive the runs with that version and start with an empty store", e.found, Layout)
}
