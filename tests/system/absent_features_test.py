"""APIs of features that are not there: each answers in every version as a Kafka without the feature, and no connection is closed."""

import unittest

from kafka_messages import Connection, versions_of
from naru_process import Broker

UNKNOWN_TOPIC, ILLEGAL_SASL_STATE, UNSUPPORTED_VERSION, INVALID_REQUEST, SECURITY_DISABLED, NO_TOKENS = 3, 34, 35, 42, 54, 61
NOT_FOUND, DUPLICATE, INVALID_UPDATE, NOT_REGISTERED = 91, 92, 95, 102
TELEMETRY = (71, 72)


class AbsentFeaturesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker()

    @classmethod
    def tearDownClass(cls):
        cls.broker.close()

    def setUp(self):
        self.connection = Connection(self.broker)
        self.addCleanup(self.connection.sock.close)

    def answers(self, api, at_least=0, **values):
        for version in versions_of(api):
            if version >= at_least:
                with self.subTest(api=api, version=version):
                    yield version, self.connection.call(api, version, **values)

    def test_access_rules_need_an_authorizer(self):
        rule = {"resource_name": "t", "principal": "User:a", "host": "*"}
        for _, answer in self.answers("DescribeAcls"):
            self.assertEqual((answer.error_code, answer.resources), (SECURITY_DISABLED, []))
            self.assertIn("authorizer", answer.error_message)
        for _, answer in self.answers("CreateAcls", creations=[rule, rule]):
            self.assertEqual([each.error_code for each in answer.results], [SECURITY_DISABLED] * 2)
        for _, answer in self.answers("DeleteAcls", filters=[{"principal_filter": None}] * 3):
            self.assertEqual([each.error_code for each in answer.filter_results], [SECURITY_DISABLED] * 3)

    def test_nobody_authenticates_on_a_plaintext_listener(self):
        for _, answer in self.answers("SaslHandshake", mechanism="PLAIN"):
            self.assertEqual((answer.error_code, answer.mechanisms), (ILLEGAL_SASL_STATE, []))
        for _, answer in self.answers("SaslAuthenticate", auth_bytes=b"x"):
            self.assertEqual((answer.error_code, answer.auth_bytes), (ILLEGAL_SASL_STATE, b""))

    def test_there_are_no_delegation_tokens(self):
        for version, answer in self.answers("CreateDelegationToken", max_lifetime_ms=-1):
            self.assertEqual((answer.error_code, answer.principal_name, answer.max_timestamp_ms), (NO_TOKENS, "ANONYMOUS", -1))
            self.assertEqual(getattr(answer, "token_requester_principal_name", None), "ANONYMOUS" if version >= 3 else None)
        for api in ("RenewDelegationToken", "ExpireDelegationToken"):
            for _, answer in self.answers(api, hmac=b"x"):
                self.assertEqual((answer.error_code, answer.expiry_timestamp_ms), (NO_TOKENS, -1))
        for _, answer in self.answers("DescribeDelegationToken", owners=None):
            self.assertEqual((answer.error_code, answer.tokens), (NO_TOKENS, []))

    def test_a_filter_of_quotas_finds_none_and_is_checked(self):
        component = lambda kind, match_type, match: {"entity_type": kind, "match_type": match_type, "match": match}
        user, client, address = component("user", 0, "a"), component("client-id", 1, None), component("ip", 0, "10.0.0.1")
        for components in ([], [user], [user, client], [address]):
            for _, answer in self.answers("DescribeClientQuotas", components=components):
                self.assertEqual((answer.error_code, answer.entries), (0, []))
        for components, error in (([user, user], INVALID_REQUEST), ([user, address], INVALID_REQUEST),
                                  ([component("user", 0, None)], INVALID_REQUEST), ([component("user", 2, "a")], INVALID_REQUEST),
                                  ([component("user", 7, "a")], INVALID_REQUEST), ([component("", 0, "a")], INVALID_REQUEST),
                                  ([component("planet", 0, "a")], UNSUPPORTED_VERSION)):
            for _, answer in self.answers("DescribeClientQuotas", components=components):
                self.assertEqual((answer.error_code, answer.entries), (error, None), components)

    def test_users_have_no_scram_credentials(self):
        call = lambda users: self.connection.call("DescribeUserScramCredentials", 0, users=users)
        for users in (None, []):
            self.assertEqual((call(users).error_code, call(users).results), (0, []))
        answer = call([{"name": "a"}, {"name": "b"}, {"name": "a"}])
        self.assertEqual((answer.error_code, [(each.user, each.error_code) for each in answer.results]),
                         (0, [("a", DUPLICATE), ("b", NOT_FOUND)]))

    def test_no_partition_is_being_moved(self):
        for topics in (None, [], [{"name": "nowhere", "partition_indexes": [0]}]):
            answer = self.connection.call("ListPartitionReassignments", 0, topics=topics)
            self.assertEqual((answer.error_code, answer.error_message, answer.topics), (0, None, []))

    def test_the_controller_is_a_quorum_of_one(self):
        for version, answer in self.answers("DescribeQuorum", topics=[
                {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]):
            partition = answer.topics[0].partitions[0]
            self.assertEqual((answer.error_code, partition.error_code, partition.leader_id), (0, 0, 1))
            self.assertGreater(partition.leader_epoch, 0)
            self.assertGreater(partition.high_watermark, 0)
            self.assertEqual([(voter.replica_id, voter.log_end_offset) for voter in partition.current_voters],
                             [(1, partition.high_watermark)])
            self.assertEqual(partition.observers, [])
            if version >= 2:
                listener = answer.nodes[0].listeners[0]
                self.assertEqual((answer.nodes[0].node_id, listener.host, listener.port), (1, "127.0.0.1", self.broker.port))

    def test_each_change_of_metadata_moves_the_end_of_its_log(self):
        end = lambda: self.connection.call("DescribeQuorum", 2, topics=[
            {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]).topics[0].partitions[0].high_watermark
        before = end()
        created = self.connection.call("CreateTopics", 7, timeout_ms=30000, topics=[
            {"name": "moves-the-end", "num_partitions": 1, "replication_factor": 1}])
        self.assertEqual(created.topics[0].error_code, 0)
        self.assertGreater(end(), before)

    def test_a_quorum_of_anything_else_is_not_known(self):
        metadata = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
        for topics in ([{"topic_name": "t", "partitions": [{"partition_index": 0}]}], [metadata, metadata],
                       [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}, {"partition_index": 1}]}]):
            for _, answer in self.answers("DescribeQuorum", topics=topics):
                errors = [partition.error_code for topic in answer.topics for partition in topic.partitions]
                self.assertEqual((answer.error_code, set(errors)), (0, {UNKNOWN_TOPIC}))

    def test_features_stay_at_the_level_that_they_have(self):
        update = lambda name, level, kind=1: {"feature": name, "max_version_level": level, "upgrade_type": kind}
        features = self.connection.call("ApiVersions", 4, client_software_name="t", client_software_version="1").finalized_features
        held = [update(feature.name, feature.max_version_level) for feature in features]
        self.assertEqual(len(held), 2)
        for version, answer in self.answers("UpdateFeatures", 1, feature_updates=held):
            self.assertEqual((answer.error_code, answer.error_message), (0, None))
            if version == 1:
                self.assertEqual([(each.feature, each.error_code) for each in answer.results], [(each["feature"], 0) for each in held])
        for refused in (update("transaction.version", 1, 2), update("transaction.version", 3), update("group.version", 0, 3),
                        update("transaction.version", 2, 0), update("no.feature", 1), update("", 1)):
            for version, answer in self.answers("UpdateFeatures", 1, feature_updates=[held[0], refused]):
                self.assertEqual(answer.error_code, INVALID_UPDATE, refused)
                self.assertEqual(getattr(answer, "results", []), [])
        older = [{"feature": "transaction.version", "max_version_level": level, "allow_downgrade": True} for level in (2, 1)]
        self.assertEqual([self.connection.call("UpdateFeatures", 0, feature_updates=[each]).error_code for each in older],
                         [0, INVALID_UPDATE])

    def test_a_running_broker_cannot_be_unregistered_and_an_unknown_one_is_not_there(self):
        call = lambda broker_id: self.connection.call("UnregisterBroker", 0, broker_id=broker_id)
        self.assertEqual(call(1).error_code, INVALID_REQUEST)
        self.assertIn("running", call(1).error_message)
        self.assertEqual(call(99).error_code, NOT_REGISTERED)

    def test_telemetry_is_not_offered(self):
        keys = {each.api_key for each in
                self.connection.call("ApiVersions", 4, client_software_name="t", client_software_version="1").api_keys}
        self.assertTrue(keys.isdisjoint(TELEMETRY))

    def test_long_lists_are_answered(self):
        many = 20000
        self.assertEqual(len(self.connection.call("CreateAcls", 3, creations=[{}] * many).results), many)
        users = [{"name": str(i)} for i in range(many)]
        self.assertEqual(len(self.connection.call("DescribeUserScramCredentials", 0, users=users).results), many)
        partitions = [{"partition_index": i} for i in range(many)]
        answer = self.connection.call("DescribeQuorum", 2, topics=[{"topic_name": "t", "partitions": partitions}])
        self.assertEqual(len(answer.topics[0].partitions), many)


if __name__ == "__main__":
    unittest.main()
