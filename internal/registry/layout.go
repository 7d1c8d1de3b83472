package registry

import (
	"fmt"
	"strconv"
	"time"
)

// Buckets is over how many indexes the entries are spread, so that they spread over the servers of a cluster.
const Buckets = 64

// Version is that of the format. A reader ignores what it does not know, so it changes only when old readers would be misled.
const Version = 1

// The fields of an entry that are not things.
const (
	AboutField = "about" // an About, as JSON
	SeenField  = "seen"  // when the client reported last
)

// Bucket is the bucket of the client with this uuid: its first byte modulo 64. What is no uuid is in bucket 0.
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

// Index is the key of a bucket's index, a sorted set of uuids by when their entries end, in milliseconds since 1970. A report removes
// those that have ended, so whoever reads the index may meet some that have. Prefix is that of WithRegistry.
func Index(prefix string, bucket int) string {
	return fmt.Sprintf("%sredlatch_clients:{b%02d}", prefix, bucket)
}

// Entry is the key of the hash of one client. It is in the slot of its index.
func Entry(prefix, uuid string) string {
	return fmt.Sprintf("%sredlatch_client:{b%02d}:%s", prefix, Bucket(uuid), uuid)
}

// Asked is the key of the hash of those identities of a client whose holds somebody asks for. It is in the slot of the entry, and its
// name begins as the entry's does, so that who may write the one may write the other.
func Asked(prefix, uuid string) string {
	return fmt.Sprintf("%sredlatch_client_asked:{b%02d}:%s", prefix, Bucket(uuid), uuid)
}

// Watched is the key that says, for as long as it lasts, that somebody looks at the clients of a bucket. It is in the slot of their
// entries.
func Watched(prefix string, bucket int) string {
	return fmt.Sprintf("%sredlatch_client_watched:{b%02d}", prefix, bucket)
}

// Interval is how often a client reports that has bucketSize clients in its bucket: not more often than every five seconds, and
// so that all clients together report a thousand times a second at most.
func Interval(bucketSize int) time.Duration { return max(5*time.Second, shared(bucketSize)) }

// WatchedInterval is how often a client reports while somebody looks: every second at most. A thousand reports a second is the most
// here too, so where there are more than 5000 clients it is the same as Interval.
func WatchedInterval(bucketSize int) time.Duration { return max(time.Second, shared(bucketSize)) }

// shared is the interval with which all clients together report a thousand times a second.
func shared(bucketSize int) time.Duration {
	return time.Duration(bucketSize) * Buckets * time.Millisecond
}
