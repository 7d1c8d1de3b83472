package holds

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
)

// A Place is where in the program something was acquired: the calls that led there, innermost first. There is
// one Place for all that is acquired by the same calls, and a hold only points to it.
type Place [12]uintptr

// places are all that there have been. A program has as many as it has ways to acquire. The map is replaced
// as a whole when one is added, for looking one up must neither wait nor allocate.
var places struct {
	adding lockorder.Mutex[lockorder.Places]
	known  atomic.Pointer[map[Place]*Place]
}

// wanted is set when a hold without a Place was dropped.
var wanted atomic.Bool

// OnDrop has inner know when its public side is unreachable for the program, and that it was acquired there.
// The hold is entered in the ledger of a test.
func OnDrop[Public any](public *Public, inner Hold, there *Place) runtime.Cleanup {
	cleanup := runtime.AddCleanup(public, dropped.tell, dropped{inner, there})
	enter(public, inner, there, cleanup)
	return cleanup
}

type dropped struct {
	inner Hold
	there *Place
}

// tell runs on a goroutine of the runtime's, of which there are few for the clean-ups of the whole program.
// An observer or a log handler of the program hears of a drop, and may block, so that is told on another one.
func (d dropped) tell() { go d.inner.Forgotten(d.there) }

// To note a Place costs a lone caller a third of the library's own time for a lock. A program that forgets to give
// holds back does so again and again, so its first holds have one, and one in so many of those after them.
const (
	noted   = 256
	oneIn   = 16
	unknown = "not noted for this one; from now on each hold has it"
)

// begun counts the first holds of the program, up to noted.
var begun atomic.Int32

// Acquired is where inner was acquired, behind so many calls above the caller's; nil where that is not noted.
// A hold that was handed over within the process costs so little that none is noted for it. Once a hold
// without a Place was dropped each has one, and in tests that keep a ledger.
func Acquired(inner Hold, above int) *Place {
	if !wanted.Load() && !ledger.kept.Load() && !first(inner) {
		return nil
	}
	return place(4 + above)
}

// first tells whether inner is one of the holds whose Place is noted although nothing was dropped yet.
func first(inner Hold) bool {
	if i, ok := inner.(interface{ Local() bool }); ok && i.Local() {
		return false
	}
	if begun.Load() < noted { // no longer written to afterwards, for all processors read it
		begun.Add(1)
		return true
	}
	return rand.Uint32()%oneIn == 0
}

// Here is the Place of the caller's caller.
func Here() *Place { return place(4) }

// place is that of the calls after the first so many, counted as runtime.Callers does.
func place(skip int) *Place {
	var p Place
	runtime.Callers(skip, p[:])
	if all := places.known.Load(); all != nil {
		if there, ok := (*all)[p]; ok {
			return there
		}
	}
	return add(p)
}

// add makes the Place of p.
func add(p Place) *Place {
	places.adding.Lock()
	defer places.adding.Unlock()
	known := map[Place]*Place{}
	if old := places.known.Load(); old != nil {
		if there, ok := (*old)[p]; ok {
			return there
		}
		known = maps.Clone(*old)
	}
	known[p] = &p
	places.known.Store(&known)
	return &p
}

// Report writes to logger, or to slog.Default if that is nil, that a hold was dropped which had been acquired
// there.
func Report(logger *slog.Logger, message string, there *Place, about ...any) {
	if logger == nil {
		logger = raise.Logger(slog.Default())
	}
	logger.Error(message, append(about, "acquired_at", there)...)
}

const module = "github.com/redlatch/redlatch"

// LogValue is the file and line of the program, past the calls inside this module. Of a hold without a Place
// it says so.
func (p *Place) LogValue() slog.Value {
	if p == nil {
		wanted.Store(true)
		return slog.StringValue(unknown)
	}
	return slog.StringValue(p.program())
}

func (p *Place) program() string {
	for frames := runtime.CallersFrames(p[:]); ; {
		f, more := frames.Next()
		rest, inside := strings.CutPrefix(f.Function, module)
		inside = inside && (rest == "" || rest[0] == '.' || rest[0] == '/') && !strings.HasSuffix(f.File, "_test.go")
		if !inside && f.File != "" {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if !more {
			return ""
		}
	}
}
