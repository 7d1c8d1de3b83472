package registry

import (
	"fmt"
	"strconv"
	"time"
)

// Buckets is over how many indexes the entries are spread, so that they spread over the servers of a cluster.
const Buckets = 64

// Version is that of the format. A reader ignores what it does not know, so it changes only when old readers
// would be misled.
const Version = 1

// The fields of an entry that are not things.
const (
	AboutField = "about" // an About, as JSON
	SeenField  = "seen"  // when the client reported last
	EveryField = "every" // how often the client reports, in milliseconds; without it every five seconds
)

// Bucket is the bucket of the client with this uuid: its first byte modulo 64. What is no uuid is in bucket
// 0.
func Bucket(uuid string) int {
	if len(uuid) < 2 {
		return 0
	}
	first, err := strconv.ParseUint(uuid[:2], 16, 8)
	if err != nil {
		return 0
	}
	return int(first % Buckets)
}

// Index is the key of a bucket's index, a sorted set of uuids by when their entries end, in milliseconds
// since 1970. A report removes those that have ended, and those that end later than [Latest], so a
// reader of the index may meet some of both. Prefix is that of WithRegistry.
func Index(prefix string, bucket int) string {
	return fmt.Sprintf("%sredlatch_clients:{b%02d}", prefix, bucket)
}

// Entry is the key of the hash of one client. It is in the slot of its index.
func Entry(prefix, uuid string) string {
	return fmt.Sprintf("%sredlatch_client:{b%02d}:%s", prefix, Bucket(uuid), uuid)
}

// Asked is the key of a hash: the identities of a client for whose holds other programs ask. It is in the
// slot of the entry, and its name begins as the entry's does, so that a user who may write the one may write
// the other.
func Asked(prefix, uuid string) string {
	return fmt.Sprintf("%sredlatch_client_asked:{b%02d}:%s", prefix, Bucket(uuid), uuid)
}

// Watched is the key that says, for as long as it lasts, that a viewer looks at the clients of a bucket. It
// is in the slot of their entries.
func Watched(prefix string, bucket int) string {
	return fmt.Sprintf("%sredlatch_client_watched:{b%02d}", prefix, bucket)
}

// An entry ends at most so long after a report: what claims to end later was forged, or a clock was set back.
const (
	LongestEntry = 24*time.Hour + 10*time.Minute
	Latest       = 25 * time.Hour // an hour for a server whose clock is behind that of the one before it
)

// How often a client reports: not more often than every five seconds, and so that all clients together report
// a thousand times a second at most, which are 64 ms for each client of a bucket. That is 100 s where there
// are 100 000 clients. It is never longer than two minutes: a user who may write to an index can put
// names there, and could silence all clients with them.
const (
	LeastInterval     = 5 * time.Second
	IntervalPerClient = Buckets * time.Millisecond
	MostInterval      = 2 * time.Minute
)

// Interval is how often a client reports that has bucketSize clients in its bucket.
func Interval(bucketSize int64) time.Duration { return intervalFrom(LeastInterval, bucketSize) }

// WatchedInterval is how often a client reports while a viewer looks: every second at most. A thousand
// reports a second is the most here too, so where there are more than 5000 clients it is the same as
// Interval.
func WatchedInterval(bucketSize int64) time.Duration { return intervalFrom(time.Second, bucketSize) }

func intervalFrom(least time.Duration, bucketSize int64) time.Duration {
	return max(least, IntervalPerClient*time.Duration(min(bucketSize, int64(MostInterval/IntervalPerClient))))
}
