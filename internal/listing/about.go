package listing

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/session"
)

// started is about when the process was, and instance is of the process alone.
var (
	started  = clock.Now()
	instance = func() string {
		var b [8]byte
		rand.Read(b[:]) // never fails
		return hex.EncodeToString(b[:])
	}()
)

func age() time.Duration { return clock.Now().Sub(clock.Aged(started)) }

// aboutOf is what a client says about itself. When the process was started is added by the script, which has
// the server's clock.
func aboutOf(s *session.Session, label string) registry.About {
	about := process()
	about.Label = registry.Text(label)
	about.Timeout = s.Timeout.Milliseconds()
	return about
}

// process is what all clients of this process say. There are no arguments, no environment, no user and no
// directory in it.
var process = sync.OnceValue(func() registry.About {
	host, _ := os.Hostname()
	about := registry.About{
		Version: registry.Version, Host: registry.Text(host), PID: os.Getpid(), Instance: instance,
		Language: "go", Library: "redlatch", Runtime: runtime.Version(), Client: "go-redis v" + redis.Version(),
		Hears: true,
	}
	if program, err := os.Executable(); err == nil {
		about.Program = registry.Text(filepath.Base(program))
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range append(build.Deps, &build.Main) {
			if module.Path == "github.com/redlatch/redlatch" {
				about.Library += " " + module.Version
			}
		}
	}
	about.Library = registry.Text(about.Library)
	return about
})
