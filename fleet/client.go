package fleet

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/registry"
)

// A Client is a redis client of some process, by what it has said of itself in the registry. A process with
// two clients is there twice, with one Instance. Texts are valid UTF-8 without control characters, and short.
type Client struct {
	ID       string        // the uuid in front of the identities with which it holds
	Seen     time.Time     // when it reported last, by the server's clock
	LastSeen time.Duration // how long ago that was, by the server's clock
	Interval time.Duration // how often it is to report, as long as it holds or waits for anything

	Host     string    // where its process runs
	PID      int       // of its process
	Program  string    // the base name of the executable
	Label    string    // the program's own
	Instance string    // the same for all clients of one process, and of no other
	Started  time.Time // the process

	Language string // "go", "java"
	Library  string // "redlatch v1.0.0"
	Runtime  string // "go1.26.1"
	Driver   string // "go-redis v9.23.0"

	Timeout time.Duration // the watchdog's
	Ended   bool          // its program has ended, and has left what it holds to its leases, as by [redlatch.WithAtLeast]
	Askable bool          // its reports find out whether others ask for what it holds; see [Holder.Ask]

	Objects []ClientObject // what it holds and waits for; from Get only what concerns the object
}

// missed is after how many reports that did not come a client is silent. One may be lost, and an outage of
// ten seconds, as a failover is one, keeps those of all clients back: none of them is to look dead when the
// server answers again.
const missed = 4

// Silent reports whether the client has not reported for so long that its process is probably dead, suspended
// or cut off.
func (c *Client) Silent() bool { return !c.Ended && c.LastSeen > missed*c.Interval }

// String names the process for people: "web-3 billing pid 17 (blue)".
func (c *Client) String() string {
	var parts []string
	for _, part := range []string{c.Host, c.Program} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if c.PID != 0 {
		parts = append(parts, fmt.Sprintf("pid %d", c.PID))
	}
	if len(parts) == 0 {
		parts = append(parts, ClientName(c.ID))
	}
	if c.Label != "" {
		parts = append(parts, "("+c.Label+")")
	}
	return strings.Join(parts, " ")
}

// A ClientObject is what one client says about one object that it holds or waits for.
type ClientObject struct {
	Kind redlatch.Kind // the side, of a read-write lock
	Key  string        // as Redis has it, any bytes

	Holds        int64     // its holds, or permits
	HeldSince    time.Time // since when it has the oldest; zero without one
	Waiters      int64     // its calls that wait
	WaitingSince time.Time // since when the oldest of them waits; zero without one

	Waits  int64         // how many of its waits have ended since it started
	Waited time.Duration // for how long these waited in all

	Owners []Owner // the oldest of its holders, eight at most
}

// An Owner is one identity by which a client says to hold.
type Owner struct {
	ID    string    // "<uuid>:<number>"; of a permit its id
	Since time.Time // since when it holds
	Kept  bool      // see Holder
}

// uuid is that of a client, at the beginning of an identity or as the whole of a text.
const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

var (
	isUUID  = regexp.MustCompile(`^` + uuid + `$`)
	isOwner = regexp.MustCompile(`^` + uuid + `:-?[0-9]{1,19}$`)
)

// clientOf is the uuid of the client to which an identity belongs; empty if the identity does not say.
func clientOf(owner string) string {
	if !isOwner.MatchString(owner) {
		return ""
	}
	id, _, _ := strings.Cut(owner, ":")
	return id
}

// ClientName names a client without an entry, by its uuid. Clients of Redisson have uuids of version 4, those
// of this library of version 8.
func ClientName(id string) string {
	switch {
	case id == "":
		return "unknown"
	case isUUID.MatchString(id) && id[14] == '4':
		return "Redisson client " + id
	default:
		return "client " + id
	}
}

func newClient(id string, about registry.About, seen int64, every string, now time.Time) *Client {
	c := &Client{
		ID: id, Seen: moment(seen), Interval: interval(every),
		Host: about.Host, PID: about.PID, Program: about.Program, Label: about.Label, Instance: about.Instance,
		Started:  moment(about.Started),
		Language: about.Language, Library: about.Library, Runtime: about.Runtime, Driver: about.Client,
		Timeout: milliseconds(about.Timeout), Askable: about.Hears, Ended: about.Ended,
	}
	if !c.Seen.IsZero() {
		c.LastSeen = max(0, now.Sub(c.Seen))
	}
	return c
}

// interval is how often a client reports that says it so. One that does not say it reports every five
// seconds, as one of Java.
func interval(every string) time.Duration {
	ms, _ := decimal(every)
	return min(max(milliseconds(ms), registry.LeastInterval), registry.MostInterval)
}

func newClientObject(id string, t registry.Thing) ClientObject {
	u := ClientObject{
		Kind: redlatch.Kind(t.Kind), Key: t.Key, Holds: t.Holds, HeldSince: moment(t.HeldSince), Waiters: t.Waiters,
		WaitingSince: moment(t.WaitingSince),
		Waits:        t.Waits, Waited: milliseconds(t.Waited),
	}
	for _, o := range t.Owners {
		u.Owners = append(u.Owners, Owner{registry.Owned(id, o), moment(o.Since), o.Kept})
	}
	return u
}

// latest is the last moment in milliseconds that an entry may name, in the year 9999: a time of later has no
// form in JSON.
const latest = 253402300799999

// moment is a time of an entry, zero for none and for one that makes no sense.
func moment(ms int64) time.Time {
	if ms <= 0 || ms > latest {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// milliseconds is a duration of an entry, of a hundred years at most, which is what a Duration can have.
func milliseconds(ms int64) time.Duration {
	const most = 100 * 365 * 24 * 3600 * 1000
	return time.Duration(min(max(ms, 0), most)) * time.Millisecond
}
