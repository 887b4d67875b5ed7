"""The table of checks.

A check has a name, a version, missing() (what to install before it can run, or None) and run() (what passed, in a few words; raises
an exception that says what did not). It may have `differences`: sentences for docs/compatibility.md.
"""

import clients
import config_keys
import connect_scenario
import copy_scenario
import flink_scenario
import group_scenario
import judge
import kafka_tools
import mirror_scenario
import monitor_scenario
import quix_scenario
import registry_scenario
import spring_scenario
import streams_scenario
import tools_comparison

CHECKS = [*clients.CLIENTS, *map(group_scenario.Check, clients.CLIENTS), group_scenario.MixedCheck(clients.CLIENTS),
          kafka_tools.Check(), config_keys.Check(), *judge.CHECKS, tools_comparison.Check(), *copy_scenario.CHECKS, *streams_scenario.CHECKS, *connect_scenario.CHECKS,
          *mirror_scenario.CHECKS, *spring_scenario.CHECKS, *flink_scenario.CHECKS,
          *quix_scenario.CHECKS, *registry_scenario.CHECKS,
          *monitor_scenario.CHECKS]
