package main

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
	"github.com/redlatch/redlatch/benchmarks/internal/report"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
	"github.com/redlatch/redlatch/benchmarks/internal/stats"
	"github.com/redlatch/redlatch/benchmarks/internal/trial"
)

func (p *plan) server() (*server.Server, error) {
	if p.url != "" {
		return server.Use(p.url)
	}
	return server.Start()
}

// describe notes under which circumstances the figures arise.
func (p *plan) describe(t *trial.Trial) (report.Results, error) {
	r := report.Results{
		Command: p.command, Date: time.Now().UTC().Format(time.DateOnly), Machine: p.machine,
		Rounds: p.rounds, Block: p.block.String(), RoundTrip: map[string]float64{},
		Versions: map[string]string{"Go": strings.TrimPrefix(runtime.Version(), "go")},
	}
	if r.Machine == "" {
		r.Machine = fmt.Sprintf("%d cores", runtime.NumCPU())
	}
	var err error
	if r.Versions["Redis"], err = t.Server.Version(); err != nil {
		return r, err
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if name, known := compared[module.Path]; known {
				r.Versions[name] = strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	for _, network := range t.Networks {
		if r.RoundTrip[network.Name], err = roundTrip(network.Addr); err != nil {
			return r, err
		}
	}
	for _, l := range library.All {
		r.Libraries = append(r.Libraries, report.Library{Name: l.Name, Lock: l.Contends, Note: l.Note})
	}
	for _, l := range library.Primitives {
		r.Libraries = append(r.Libraries, report.Library{Name: l.Name, Lock: true, Note: l.Note, Primitive: true})
	}
	if p.java != "" {
		r.Libraries = append(r.Libraries, report.Library{Name: trial.Redisson, Lock: true, Note: redisson})
	}
	return r, nil
}

const redisson = "Redisson 4.7 with `getLock`, or with the counterpart of a primitive, in a Java process beside this one, 32 connections; warm before it is measured. " +
	"The DEL that follows each of its unlocks is not counted as a command"

// compared are the modules whose versions belong to the figures.
var compared = map[string]string{
	"github.com/redis/go-redis/v9":     "go-redis",
	"github.com/redis/rueidis":         "rueidis",
	"github.com/bsm/redislock":         "redislock",
	"github.com/go-redsync/redsync/v4": "redsync",
}

// roundTrip is the median of some in microseconds.
func roundTrip(addr string) (float64, error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	var took []float64
	for range 200 {
		start := time.Now()
		if err := client.Ping(context.Background()).Err(); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(start))/1e3)
	}
	return stats.Summarize(took).Median, nil
}

var plain = regexp.MustCompile(`^[-=\w./:,]+$`)

// commandLine is what somebody types who wants the same run. Where it writes to is everybody's own affair.
func commandLine(args []string) string {
	words := []string{"go", "-C", "benchmarks", "run", "."}
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if name == "out" {
			if !joined {
				i++ // its value
			}
			continue
		}
		word := args[i]
		if !plain.MatchString(word) {
			word = "'" + word + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
