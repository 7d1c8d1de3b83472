// Package entry has the scripts that write a client's entry of the registry, and those by which another
// client reads it, or asks the client for what it holds. Package registry has the format.
package entry

import (
	"embed"
	"time"

	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/scripts"
)

//go:embed *.lua
var folder embed.FS

var (
	report = scripts.Load(folder, "entry/report", scripts.Clock)
	remove = scripts.Load(folder, "entry/remove")
	ask    = scripts.Load(folder, "entry/ask", scripts.Clock)
	unask  = scripts.Load(folder, "entry/unask")
	read   = scripts.Load(folder, "entry/read", scripts.Clock)
)

// Names are the keys of one entry, and the client's uuid.
type Names struct{ Index, Entry, Asked, Watched, UUID string }

// NamesOf are those of the entry of the client with this uuid, in the registry with this prefix.
func NamesOf(prefix, uuid string) Names {
	bucket := registry.Bucket(uuid)
	return Names{registry.Index(prefix, bucket), registry.Entry(prefix, uuid), registry.Asked(prefix, uuid),
		registry.Watched(prefix, bucket), uuid}
}

// A Report is what one command writes.
type Report struct {
	Names
	TTL     time.Duration
	Whole   bool             // the entry is written anew; else nothing is written if it does not exist
	About   string           // a JSON object; empty: the entry has it
	Age     time.Duration    // of the process
	Removed []string         // fields
	Things  []registry.Thing // whose times are what Ago says
}

// Ago stands for the moment of the server's clock so long ago, which the script puts there. It is a millisecond at
// least, for 0 says that there is no such moment.
func Ago(age time.Duration) int64 { return -max(scripts.Milliseconds(age), 1) }

// A Reply says whether a Report was written, how many entries the index has, whether somebody looks at the
// entries, and whose holds somebody asks for.
type Reply struct {
	Written  bool
	Entries  int64
	Watched  bool
	Nonsense bool // at the place of Asked there is something that makes no sense
	Asked    []string
}

// Write makes the command of a report.
func Write(r Report) scripts.Command[Reply] {
	args := make([]any, 0, 10+len(r.Removed)+2*len(r.Things))
	args = append(args, r.UUID, scripts.Milliseconds(r.TTL), digit(r.Whole), r.About, scripts.Milliseconds(r.Age),
		registry.LeastInterval.Milliseconds(), registry.IntervalPerClient.Milliseconds(),
		registry.MostInterval.Milliseconds(),
		registry.Latest.Milliseconds(), len(r.Removed))
	for _, field := range r.Removed {
		args = append(args, field)
	}
	for _, t := range r.Things {
		args = append(args, t.Field(), t.Value())
	}
	return scripts.Array(report, []string{r.Index, r.Entry, r.Asked, r.Watched}, args,
		func(reply scripts.Reply) (written Reply, err error) {
			e := reply.Elements()
			written.Written, written.Entries, written.Watched, written.Nonsense = e.Bool(), e.Number(), e.Bool(), e.Bool()
			for e.More() {
				written.Asked = append(written.Asked, e.Text())
			}
			return written, e.End()
		})
}

// Remove makes the command that removes an entry, and answers whether there was one.
func Remove(n Names) scripts.Command[bool] {
	return scripts.Integer(remove, []string{n.Index, n.Entry, n.Asked}, []any{n.UUID}, scripts.Bool)
}

// A Look is what an entry says, each text empty where it says nothing.
type Look struct {
	Now                int64 // the server's, in milliseconds
	About, Seen, Thing string
}

// Read makes the command that reads what an entry says of its client, and of the thing in a field.
func Read(key, field string) scripts.Command[Look] {
	return scripts.Array(read, []string{key}, []any{field}, func(reply scripts.Reply) (Look, error) {
		e := reply.Elements()
		look := Look{e.Moment(), e.Text(), e.Text(), e.Text()}
		return look, e.End()
	})
}

func digit(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
