package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// otherWork is the number of cores that are busy in a second in which the benchmarks do nothing, or 0 where the system does
// not say. A load average would still include the compiler that built this program.
func otherWork() float64 {
	busy, all := jiffies()
	time.Sleep(time.Second)
	busyThen, allThen := jiffies()
	if allThen <= all {
		return 0
	}
	return float64(busyThen-busy) / float64(allThen-all) * float64(runtime.NumCPU())
}

// jiffies are the ticks since the system started, summed over all cores: the busy ones, and all of them.
func jiffies() (busy, all int64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	return parseJiffies(string(text))
}

func parseJiffies(stat string) (busy, all int64) {
	var user, nice, system, idle, wait, hard, soft, stolen int64
	if _, err := fmt.Sscanf(stat, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &hard, &soft, &stolen); err != nil {
		return 0, 0
	}
	busy = user + nice + system + hard + soft + stolen
	return busy, busy + idle + wait
}
