package layers_test

import "slices"

const module = "github.com/redlatch/redlatch"

// The layers as lists, for use in the rows. front is the root package; its folder is ".".
var (
	front = []string{"."}

	// hidden is what the root package offers to this module alone.
	hidden = []string{"internal/rootapi"}

	leaves = []string{
		"internal/errs", "internal/settings", "internal/keys", "internal/holds", "internal/cohort", "internal/clock", "internal/jitter", "internal/watchdog",
		"internal/fairqueue", "internal/raise", "internal/registry", "internal/reporter", "internal/lockorder",
	}

	edge = []string{
		"internal/outcome", "internal/scripts", "internal/scripts/lane", "internal/scripts/row", "internal/scripts/entry", "internal/scripts/notice", "internal/dispatch", "internal/delivery", "internal/wakeup",
		"internal/session", "internal/listing", "internal/why",
	}

	bases = []string{"internal/baselock", "internal/locking", "internal/counter"}

	primitives = []string{
		"rlock", "fairlock", "rwlock", "spinlock", "fencedlock", "semaphore", "permitsemaphore", "countdownlatch",
	}

	composites = []string{"multilock", "redlock"}

	// support is for tests, and for the modules that judge the library; nothing else may import it.
	support = []string{
		"internal/test/servers", "internal/test/redistest", "internal/test/proxy", "internal/test/faultproxy", "internal/test/locktest", "internal/test/countertest", "internal/test/statetest", "internal/test/briefly",
	}
)

// table says for each package what it may import of this module. A row that ends in /... is for all packages below it
// that have no row of their own; they may also import one another.
var table = map[string][]string{
	"internal/lockorder": nil,
	"internal/errs":      nil,
	"internal/settings":  {"internal/errs"},
	"internal/keys":      nil,
	"internal/holds":     {"internal/raise", "internal/lockorder"},
	"internal/cohort":    {"internal/errs", "internal/lockorder", "internal/jitter", "internal/clock", "internal/watchdog", "internal/raise"},
	"internal/clock":     {"internal/lockorder"},
	"internal/jitter":    nil,
	"internal/raise":     {"internal/lockorder"},
	"internal/watchdog":  {"internal/lockorder", "internal/clock"},
	"internal/fairqueue": {"internal/lockorder", "internal/clock"},
	"internal/registry":  nil,
	"internal/reporter":  {"internal/lockorder", "internal/registry", "internal/watchdog", "internal/clock", "internal/jitter"},

	"internal/outcome":      nil,
	"internal/scripts":      nil,
	"internal/scripts/lane": {"internal/scripts"},
	"internal/scripts/row":  {"internal/scripts"},

	"internal/scripts/entry":  {"internal/scripts", "internal/registry"},
	"internal/scripts/notice": {"internal/scripts", "internal/keys"},

	"internal/dispatch": {"internal/lockorder", "internal/outcome", "internal/raise"},
	"internal/delivery": {"internal/errs", "internal/outcome", "internal/dispatch", "internal/scripts", "internal/clock"},
	"internal/wakeup":   {"internal/lockorder", "internal/keys", "internal/raise"},
	"internal/session":  all(without(leaves, "internal/registry", "internal/reporter"), without(edge, "internal/session", "internal/listing", "internal/why", "internal/scripts/entry")),
	"internal/listing":  all(leaves, without(edge, "internal/listing", "internal/why")),
	"internal/why":      {"internal/lockorder", "internal/clock", "internal/raise", "internal/outcome", "internal/dispatch", "internal/delivery", "internal/scripts/notice", "internal/session"},

	"internal/rootapi": {"internal/errs", "internal/holds", "internal/settings"},
	".":                {"internal/errs", "internal/settings", "internal/holds", "internal/raise", "internal/rootapi", "internal/session", "internal/listing"},

	// The kit for the tests of users, which is for _test.go files as the packages of support are, but may not link what those link.
	"redlatchtest": all(front, hidden, []string{"internal/holds", "internal/observe", "internal/keys", "internal/settings", "internal/session", "internal/test/proxy", "internal/test/servers"}),

	"internal/observe": all(front, []string{"internal/lockorder", "internal/errs", "internal/settings", "internal/holds", "internal/raise", "internal/watchdog", "internal/session", "internal/listing"}),

	"internal/life": all(front, []string{"internal/clock", "internal/errs", "internal/holds", "internal/observe", "internal/raise", "internal/session", "internal/settings", "internal/watchdog", "internal/why"}),

	"internal/baselock":  all(leaves, edge, front, hidden, []string{"internal/observe", "internal/life"}),
	"internal/locking":   all(leaves, edge, front, hidden, []string{"internal/observe", "internal/life", "internal/baselock"}, scripts("rlock")),
	"internal/fair":      all(leaves, edge, front, hidden, []string{"internal/baselock", "internal/locking"}, scripts("fairlock")),
	"internal/sides":     all(leaves, edge, front, hidden, []string{"internal/life", "internal/baselock", "internal/locking"}, scripts("rwlock")),
	"internal/composite": all(leaves, edge, front, hidden, []string{"internal/observe", "internal/baselock", "internal/locking"}, scripts("rlock")),
	"internal/counter":   all(leaves, edge, front, hidden, []string{"internal/observe"}),

	"rlock":           primitive(),
	"fairlock":        all(primitive("fairlock"), []string{"internal/fair"}),
	"rwlock":          all(primitive("rwlock"), []string{"internal/sides"}),
	"spinlock":        primitive("spinlock"),
	"fencedlock":      primitive("fencedlock"),
	"semaphore":       primitive("semaphore"),
	"permitsemaphore": primitive("permitsemaphore"),
	"countdownlatch":  primitive("countdownlatch"),

	"internal/quorum": {"internal/lockorder", "internal/errs", "internal/settings", "internal/holds", "internal/raise", "internal/cohort", "internal/clock", "internal/watchdog",
		"internal/observe", "internal/life", "internal/why", "internal/baselock", "internal/locking", "internal/composite", "internal/rootapi", "internal/session", "."},
	"multilock": all(primitive("multilock"), []string{"internal/composite", "internal/quorum"}),
	"redlock":   all(primitive(), []string{"internal/composite", "internal/quorum"}),

	"fleet": all(front, hidden, primitives, []string{"multilock", "internal/settings", "internal/baselock", "internal/locking", "internal/session", "internal/scripts", "internal/scripts/entry", "internal/scripts/notice", "internal/keys", "internal/registry", "internal/errs", "internal/outcome", "internal/delivery"}),

	"cmd/...":      all(leaves, edge, front, primitives, composites, []string{"fleet"}),
	"examples/...": all(front, primitives, composites), // what a user has
	"examples":     nil,                                // only its tests have code
	"interop":      all(front, primitives, composites), // only its tests have code

	"internal/test/suite":    nil, // only its tests have code
	"internal/test/parallel": nil, // as above
	"internal/test/modules":  nil, // as above
	"internal/test/evidence": nil, // as above
	"internal/test/roads":    nil, // as above

	"internal/test/servers":     nil,
	"internal/test/briefly":     all(front, hidden, []string{"internal/settings"}),
	"internal/test/redistest":   {"internal/test/servers"},
	"internal/test/proxy":       nil,
	"internal/test/faultproxy":  {"internal/test/proxy"},
	"internal/test/countertest": all(front, []string{"internal/test/redistest", "internal/test/faultproxy", "internal/test/briefly"}),
	"internal/test/locktest":    all(front, []string{"internal/test/redistest", "internal/test/faultproxy", "internal/test/briefly"}),
	"internal/test/statetest":   {"internal/outcome", "internal/scripts", "internal/test/redistest"},
	"internal/test/layers":      nil,
}

// The scripts of the primitives, which share a prelude at most.
func init() {
	for _, name := range []string{"rlock", "fairlock", "rwlock", "spinlock", "fencedlock", "semaphore", "permitsemaphore", "countdownlatch", "multilock"} {
		table["internal/scripts/"+name] = []string{"internal/scripts", "internal/scripts/lane", "internal/scripts/row", "internal/scripts/notice", "internal/keys"}
	}
}

// primitive is what a primitive may import: everything below, and its own scripts.
func primitive(ownScripts ...string) []string {
	return all(leaves, edge, front, hidden, []string{"internal/observe", "internal/life"}, bases, scripts(append(ownScripts, "rlock")...))
}

func scripts(names ...string) (folders []string) {
	for _, name := range names {
		folders = append(folders, "internal/scripts/"+name)
	}
	return folders
}

func all(lists ...[]string) []string { return slices.Concat(lists...) }

func without(list []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(names, s) })
}

// What the engines must not know, and what only tests may use.
var (
	redisClient = "github.com/redis/go-redis/"
	miniredis   = "github.com/alicebob/miniredis/"
	testModules = []string{miniredis, "github.com/stretchr/testify/", "go.uber.org/goleak"}

	// codeModules is what the library itself may import. Each is a line in the go.mod of every program that uses it.
	codeModules = []string{redisClient, "github.com/cenkalti/backoff/", "golang.org/x/sync/"}

	// commandModules is what the command may import beyond that. No package of the library does, so they are linked into the
	// command alone.
	commandModules = []string{"github.com/alecthomas/kong", "golang.org/x/sys/unix"}

	demo     = "cmd/redlatch/internal/demo" // shows the library to people who have no server, and brings one along
	embedded = "examples/internal/connect"  // so do the examples
	kit      = "redlatchtest"               // gives the tests of users a server
)
